// The last hours: nodes, pods, who waited, cost, and a mark per decision. Pointing shows the numbers of a moment, a click or the
// slider goes back to it.
import { ask, clock, h, money, s, say, setText, when } from './dom.js';

const left = 64;
const lanes = { nodes: [10, 58], pods: [76, 108], waiting: [126, 162], cost: [180, 208] };
const marksAt = 232;
const axisAt = 264;
const height = 270;
// A mark by kind of decision: how far below the middle, and its form around the point.
const shapes = {
  trouble: [-12, (x, y) => `M${x - 3} ${y - 3}h6v6h-6z`], up: [-3, (x, y) => `M${x} ${y - 4}l4 7h-8z`], down: [4, (x, y) => `M${x} ${y + 4}l4 -7h-8z`],
  waits: [12, (x, y) => `M${x - 3} ${y}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z`], gang: [-20, (x, y) => `M${x} ${y - 4}l4 4l-4 4l-4 -4z`],
};

export class Timeline {
  hours = Number(sessionStorage.getItem('coppice-hours')) || 6;
  data = null;
  asked = 0;
  answered = 0;
  width = 800;
  constructor(store) {
    this.store = store;
    this.svg = s('svg', { height, role: 'img', 'aria-label': 'Nodes, running and waiting pods, cost and decisions of the last hours' });
    this.chart = h('div', { class: 'chart' }, this.svg);
    this.range = h('input', { type: 'range', min: 0, max: 1000, value: 1000, step: 1, 'aria-label': 'Go back in time' });
    this.ranges = [1, 6, 24].map((n) => h('button', { type: 'button', 'aria-pressed': n === this.hours, onclick: () => this.choose(n) }, n + ' h'));
    this.pastText = h('span', {});
    this.pastBox = h('div', { class: 'past', hidden: true }, this.pastText, h('button', { type: 'button', class: 'quiet', onclick: () => this.goLive() }, 'Back to now'));
    this.root = h('section', { class: 'card timeline', 'aria-labelledby': 'timeline-title' },
      h('header', {}, h('h2', { id: 'timeline-title' }, 'The last hours'), h('div', { class: 'end' }, h('div', { class: 'seg', role: 'group', 'aria-label': 'How far back' }, this.ranges))),
      this.chart, this.range, this.pastBox);
    this.range.addEventListener('input', () => this.slide());
    this.chart.addEventListener('pointermove', (event) => this.point(event));
    this.chart.addEventListener('pointerleave', () => this.hair(null));
    this.chart.addEventListener('click', (event) => { clearTimeout(this.later); this.go(this.timeAt(event)); });
    this.resize = new ResizeObserver(() => { this.width = this.chart.clientWidth || this.width; this.draw(); });
    this.resize.observe(this.chart);
    this.whole = () => this.showPast();
    store.addEventListener('whole', this.whole);
    this.timer = setInterval(() => { if (!document.hidden) this.load(); }, 2000);
    this.load();
  }
  end() {
    clearInterval(this.timer);
    clearTimeout(this.later);
    this.resize.disconnect();
    this.store.removeEventListener('whole', this.whole);
  }
  choose(hours) {
    this.hours = hours;
    sessionStorage.setItem('coppice-hours', hours);
    this.ranges.forEach((button, i) => button.setAttribute('aria-pressed', [1, 6, 24][i] === hours));
    this.load();
  }
  async load() {
    const to = this.store.live.at;
    if (!to) return;
    const { hours } = this;
    const turn = ++this.asked;
    try {
      const data = await ask(`timeline?points=400&from=${to - hours * 3600}&to=${to}`);
      // Not what is older than what is shown, nor of other hours than are chosen by now.
      if (turn < this.answered || hours !== this.hours) return;
      this.answered = turn;
      this.data = data;
      this.draw();
    } catch { /* shown by the light in the bar */ }
  }
  // Time that is there fills the width, however short: the first minutes are looked at, too.
  get from() { return Math.max(this.data.from, Math.min(this.data.keptSince || this.data.from, this.data.to - 600)); }
  x(at) { return left + ((at - this.from) / Math.max(1, this.data.to - this.from)) * (this.width - left - 6); }
  timeAt(event) {
    if (!this.data) return 0;
    const part = (event.clientX - this.chart.getBoundingClientRect().left - left) / (this.width - left - 6);
    return this.from + Math.max(0, Math.min(1, part)) * (this.data.to - this.from);
  }
  slide() {
    if (!this.data) return;
    clearTimeout(this.later);
    const value = Number(this.range.value);
    if (value >= 1000) { this.goLive(); return; }
    const at = this.from + (value / 1000) * (this.data.to - this.from);
    this.later = setTimeout(() => this.go(at), 60);
  }
  async go(at) {
    if (!at) return;
    try { if (await this.store.goTo(at)) say('Showing ' + when(this.store.past.at)); } catch (problem) { say(problem.message); }
  }
  goLive() {
    clearTimeout(this.later);
    this.store.goLive();
  }
  showPast() {
    const past = this.store.past;
    this.pastBox.hidden = !past;
    this.root.classList.toggle('back', Boolean(past));
    if (past) setText(this.pastText, 'The cluster as it was at ' + when(past.at) + ' UTC');
    else this.range.value = 1000;
    this.draw();
  }
  path(values, [top, bottom], most, close) {
    const at = this.data.samples.at;
    let d = '';
    for (let i = 0; i < at.length; i++) {
      const y = (bottom - (values[i] / most) * (bottom - top)).toFixed(1);
      d += (i ? 'H' + this.x(at[i]).toFixed(1) + 'V' : 'M' + this.x(at[i]).toFixed(1) + ' ') + y;
    }
    if (!d) return 'M0 0';
    d += 'H' + this.x(this.data.to).toFixed(1);
    return close ? d + 'V' + bottom + 'H' + this.x(at[0]).toFixed(1) + 'Z' : d;
  }
  label(lane, title, value) {
    const [top] = lanes[lane];
    return [s('text', { x: 0, y: top + 11 }, title), s('text', { x: 0, y: top + 27, class: 'value' }, value)];
  }
  draw() {
    if (!this.data || !this.data.samples.at.length) return;
    const { at, nodes, coming, running, pending, cost } = this.data.samples;
    const last = at.length - 1;
    const parts = [];
    for (const lane of Object.values(lanes)) parts.push(s('line', { class: 'grid', x1: left, x2: this.width - 6, y1: lane[1] + 0.5, y2: lane[1] + 0.5 }));
    const both = nodes.map((n, i) => n + coming[i]);
    const mostNodes = Math.max(4, ...both) * 1.05;
    parts.push(s('path', { class: 'area', d: this.path(nodes, lanes.nodes, mostNodes, true) }), s('path', { class: 'coming', d: this.path(both, lanes.nodes, mostNodes) }),
      s('path', { class: 'area-line', d: this.path(nodes, lanes.nodes, mostNodes) }));
    parts.push(s('path', { class: 'pods', d: this.path(running, lanes.pods, Math.max(4, ...running) * 1.05) }));
    parts.push(s('path', { class: 'waits', d: this.path(pending, lanes.waiting, Math.max(4, ...pending), true) }));
    parts.push(s('path', { class: 'cost', d: this.path(cost, lanes.cost, Math.max(0.01, ...cost) * 1.1) }));
    // What is shown above them, and not the sample before that.
    const total = { nodes: nodes[last], running: running[last], pending: pending[last], cost: cost[last], ...this.store.shown.total };
    parts.push(...this.label('nodes', 'nodes', String(total.nodes)), ...this.label('pods', 'pods', String(total.running)), ...this.label('waiting', 'waiting', String(total.pending)), ...this.label('cost', 'cost/h', money(total.cost)));
    parts.push(...this.decisions(), ...this.axis());
    if (this.store.past) {
      const x = this.x(this.store.past.at);
      parts.push(s('line', { class: 'cursor', x1: x, x2: x, y1: 4, y2: marksAt + 18 }));
      this.range.value = Math.round((1000 * (this.store.past.at - this.from)) / (this.data.to - this.from));
    }
    this.hairLine = s('line', { class: 'hair', visibility: 'hidden', y1: 4, y2: marksAt + 18 });
    this.hairText = s('text', { class: 'value halo', visibility: 'hidden', y: 8 });
    parts.push(this.hairLine, this.hairText);
    this.svg.replaceChildren(...parts);
  }
  // Marks that would lie on each other are one.
  decisions() {
    const seen = new Set();
    const out = [];
    for (const decision of this.data.decisions) {
      if (!shapes[decision.kind]) continue;
      const x = Math.round(this.x(decision.at) / 6) * 6;
      const key = decision.kind + x;
      if (x < left || seen.has(key)) continue;
      seen.add(key);
      const [below, shape] = shapes[decision.kind];
      out.push(s('path', { class: 'mark ' + decision.kind, d: shape(x, marksAt + below) }, s('title', {}, decision.title)));
    }
    return [s('text', { x: 0, y: marksAt + 4 }, 'decided'), ...out];
  }
  axis() {
    const reach = this.data.to - this.from;
    const step = [60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400].find((x) => reach / x <= Math.max(3, this.width / 110)) || 21600;
    const out = [];
    for (let at = Math.ceil(this.from / step) * step; at <= this.data.to; at += step) {
      const x = this.x(at);
      if (x < left + 14 || x > this.width - 16) continue;
      out.push(s('text', { x, y: axisAt, 'text-anchor': 'middle' }, clock(at)));
    }
    return out;
  }
  point(event) { this.hair(this.timeAt(event)); }
  hair(at) {
    if (!this.hairLine || !this.data) return;
    for (const part of [this.hairLine, this.hairText]) part.setAttribute('visibility', at === null ? 'hidden' : 'visible');
    if (at === null) return;
    const samples = this.data.samples;
    let i = samples.at.findIndex((t) => t > at);
    i = i < 0 ? samples.at.length - 1 : Math.max(0, i - 1);
    const x = this.x(at);
    this.hairLine.setAttribute('x1', x);
    this.hairLine.setAttribute('x2', x);
    setText(this.hairText, `${clock(at)}   ${samples.nodes[i]} nodes, ${samples.running[i]} pods, ${samples.pending[i]} waiting, ${money(samples.cost[i])}/h`);
    const rightSide = x < this.width - 320;
    this.hairText.setAttribute('x', rightSide ? x + 8 : x - 8);
    this.hairText.setAttribute('text-anchor', rightSide ? 'start' : 'end');
  }
}
