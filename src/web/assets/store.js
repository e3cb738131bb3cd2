// The cluster as the server tells it: whole at first, then by deltas; and a moment of the past when somebody goes back.
import { ask, Problem } from './dom.js';

const sections = ['rows', 'nodes', 'pending', 'queues'];
const empty = () => ({ seq: 0, at: 0, total: {}, rows: {}, nodes: {}, pending: {}, queues: {} });

export class Store extends EventTarget {
  live = empty();
  past = null;
  control = { mode: 'cluster', paused: false, speed: 1 };
  source = null;
  heard = performance.now();
  // An answer that was overtaken by another question, or by the way back, is dropped: these count the questions.
  loads = 0;
  turns = 0;
  resting = false;

  get shown() { return this.past || this.live; }
  // The time of what is shown, also between two deltas.
  now() { return this.past ? this.past.at : this.liveNow(); }
  // The cluster's.
  liveNow() {
    const rate = this.control.mode === 'model' ? (this.control.paused ? 0 : this.control.speed || 0) : 1;
    return this.live.at + Math.min(5, (performance.now() - this.heard) / 1000) * rate;
  }

  async start() {
    this.control = await ask('control');
    this.emit('control');
    await this.load();
    this.listen();
  }
  // Whether it was still wanted when it came.
  async load() {
    const load = ++this.loads;
    const state = await ask('state');
    if (load !== this.loads) return false;
    this.live = { ...empty(), ...state };
    this.heard = performance.now();
    if (!this.past) this.emit('whole');
    return true;
  }
  listen() {
    if (this.source) this.source.close();
    const source = new EventSource('/api/v1/events?since=' + this.live.seq);
    this.source = source;
    source.addEventListener('open', () => this.emit('link', 'on'));
    source.addEventListener('error', () => {
      this.emit('link', 'off');
      if (source.readyState === EventSource.CLOSED) this.soon();
    });
    source.addEventListener('delta', (event) => this.apply(JSON.parse(event.data)));
    source.addEventListener('reset', () => this.again());
    source.addEventListener('decision', (event) => this.emit('decision', JSON.parse(event.data)));
    source.addEventListener('control', (event) => { this.control = JSON.parse(event.data); this.emit('control'); });
  }
  soon() {
    clearTimeout(this.later);
    this.later = setTimeout(() => this.again(), 2000);
  }
  async again() {
    clearTimeout(this.later);
    if (this.resting) return;
    try {
      if (this.source) this.source.close();
      if (await this.load()) this.listen();
    } catch (problem) {
      if (problem instanceof Problem && problem.status === 401) location.reload();
      else if (!this.resting) this.soon();
    }
  }
  // A browser has six connections for all of its pages of one server, and a stream keeps one of them: a page that nobody looks at gives
  // its own back.
  rest() {
    if (this.resting || !this.source) return;
    this.resting = true;
    this.loads++;
    clearTimeout(this.later);
    this.source.close();
    this.emit('link', 'off');
  }
  // Everything is asked for anew: what was decided meanwhile comes with no delta.
  wake() {
    if (!this.resting) return;
    this.resting = false;
    this.again();
  }
  apply(delta) {
    if (delta.seq <= this.live.seq) return;
    if (delta.seq !== this.live.seq + 1) { this.again(); return; }
    this.live.seq = delta.seq;
    this.live.at = delta.at;
    this.heard = performance.now();
    if (delta.total) this.live.total = delta.total;
    for (const section of sections) {
      for (const name of (delta.gone && delta.gone[section]) || []) delete this.live[section][name];
      if (delta[section]) Object.assign(this.live[section], delta[section]);
    }
    if (!this.past) this.emit('delta', delta);
  }
  // Whether that is where it now is: who goes elsewhere before the answer comes has gone elsewhere.
  async goTo(at) {
    const turn = ++this.turns;
    let past;
    try { past = await ask('state?at=' + Math.round(at)); } catch (problem) {
      if (turn !== this.turns) return false;
      throw problem;
    }
    if (turn !== this.turns) return false;
    this.past = { ...empty(), ...past };
    this.emit('whole');
    return true;
  }
  goLive() {
    this.turns++;
    if (!this.past) return;
    this.past = null;
    this.emit('whole');
  }
  emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }
}
