// The Now page: figures, the timeline, rows of nodes, who waits, what was decided.
import { amount, ask, bytes, clock, cpu, h, money, plural, setClass, setText, span } from './dom.js';
import { Timeline } from './timeline.js';

const words = {
  ready: 'in use', unneeded: 'not needed', draining: 'is leaving', booting: 'machine is booting', starting: 'node is starting', imagined: 'ordered',
  unready: 'not ready', failed: 'failed', cordoned: 'cordoned',
};
const verdicts = { bought: 'a node is coming', awaits: 'next in line', unhelped: 'nothing helps', unserved: 'limits are reached', fits: 'finds room', gang: 'waits for its gang', '': 'being looked at' };
export const marks = { up: '\u25b2', down: '\u25bc', trouble: '\u2715', waits: '\u25cf', gang: '\u25c6' };
const href = (...parts) => '#/' + parts.map(encodeURIComponent).join('/');

export function decisionItem(decision) {
  return h('li', {}, h('a', { class: 'item', href: href('why', 'decision', decision.id) }, h('span', { class: 'end' }, clock(decision.at)),
    h('span', { class: 'm ' + decision.kind, 'aria-hidden': 'true' }, marks[decision.kind]), h('span', { class: 't' }, decision.title), h('span', { class: 'y' }, decision.why)));
}

class Rows {
  rows = new Map();
  tiles = new Map();
  constructor(place, store) {
    this.place = place;
    this.store = store;
    place.addEventListener('click', (event) => {
      const tile = event.target.closest('.tile');
      if (tile) location.hash = tile.dataset.name.startsWith('claim/') ? href('why', 'claim', tile.dataset.name.slice(6)) : href('why', 'node', tile.dataset.name);
    });
    place.addEventListener('keydown', (event) => this.walk(event));
    // Sentences are made for the tile that is looked at, not for two thousand.
    for (const type of ['pointerover', 'focusin']) {
      place.addEventListener(type, (event) => {
        const tile = event.target.closest('.tile');
        if (tile) this.describe(tile);
      }, true);
    }
  }
  // Arrow keys walk along a row; one tile of each row is in the order of the tab key.
  walk(event) {
    const tile = event.target.closest('.tile');
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!tile || !step) return;
    const next = step > 0 ? tile.nextElementSibling : tile.previousElementSibling;
    if (!next || !next.classList.contains('tile')) return;
    tile.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
    event.preventDefault();
  }
  describe(tile) {
    const name = tile.dataset.name;
    const node = this.store.shown.nodes[name];
    if (!node) return;
    const lines = [name.startsWith('imagined/') ? 'a node of ' + node.row : name, words[node.state] || node.state];
    if (node.goesAt) lines[1] += ', goes in ' + span(node.goesAt - this.store.now());
    if (node.cpu !== undefined) lines.push(`cpu ${Math.round(node.cpu / 10)}%, memory ${Math.round(node.memory / 10)}%` + (node.gpu === undefined ? '' : `, GPU ${Math.round(node.gpu / 10)}%`) + ', ' + plural(node.pods, 'pod'));
    if (node.reason && !node.goesAt && node.state !== 'draining') lines.push('stays: ' + node.reason + (node.pod ? ' (' + node.pod + ')' : ''));
    if (node.error || node.text) lines.push(node.error || node.text);
    tile.dataset.tip = lines.join('\n');
    tile.setAttribute('aria-label', lines.join(', '));
  }
  all(state) {
    for (const name of [...this.tiles.keys()]) if (!state.nodes[name]) this.dropTile(name);
    for (const name of [...this.rows.keys()]) if (name && !state.rows[name]) this.dropRow(name);
    for (const name of Object.keys(state.rows).sort()) this.row(name, state.rows[name]);
    for (const [name, node] of Object.entries(state.nodes)) this.tile(name, node, false);
    this.density();
  }
  some(delta, state) {
    for (const name of (delta.gone && delta.gone.nodes) || []) this.dropTile(name);
    for (const name of (delta.gone && delta.gone.rows) || []) this.dropRow(name);
    for (const [name, row] of Object.entries(delta.rows || {})) this.row(name, row);
    for (const [name, node] of Object.entries(delta.nodes || {})) this.tile(name, node, true);
    if (delta.nodes || delta.rows || delta.gone) this.density();

  }
  row(name, row) {
    let parts = this.rows.get(name);
    if (!parts) {
      const title = name ? h('a', { href: href('why', 'group', name) }, name) : 'No group';
      parts = { count: 0, slots: 0, what: h('p', { class: 'what' }), bar: h('b', {}), size: h('span', {}), note: h('span', { class: 'note' }), tiles: h('div', { class: 'tiles', role: 'group', 'aria-label': 'Nodes of ' + (name || 'no group') }) };
      parts.sizes = h('div', { class: 'size' }, h('i', {}, parts.bar), parts.size);
      parts.root = h('section', { class: 'row' }, h('div', {}, h('h3', {}, title, ' ', parts.note), parts.what, parts.sizes), parts.tiles);
      this.rows.set(name, parts);
      const after = [...this.rows.keys()].filter((other) => other > name && name).sort()[0];
      this.place.insertBefore(parts.root, after !== undefined ? this.rows.get(after).root : null);
    }
    if (!row) { parts.sizes.hidden = true; return parts; }
    const per = row.cpuMillis ? cpu(row.cpuMillis) + ' cpu, ' + bytes(row.memoryBytes) + (row.gpus ? ', ' + plural(row.gpus, 'GPU') : '') : '';
    setText(parts.what, row.kind === 'pool' ? 'pool' + (row.limits ? ', limited to ' + row.limits : '') : [row.type, row.zone].filter(Boolean).join(' \u00b7 '));
    parts.root.dataset.room = row.max;
    parts.what.dataset.tip = per ? per + ' for pods, each' : '';
    parts.bar.style.setProperty('--v', row.max ? (100 * row.target) / row.max : 0);
    setText(parts.size, (row.kind === 'pool' ? plural(row.target, 'node') : `${row.target} of ${row.min}\u2013${row.max}`) + (row.cost ? ` \u00b7 ${money(row.cost)}/h` : ''));
    const notes = [];
    if (row.coming) notes.push(row.coming + ' coming');
    if (row.unneeded) notes.push(row.unneeded + ' not needed');
    if (row.leaving) notes.push(row.leaving + ' leaving');
    setText(parts.note, row.trouble ? row.trouble : row.backoff ? 'backed off: ' + row.backoff : row.healthy === false ? 'not healthy' : notes.join(', '));
    setClass(parts.note, 'note ' + (row.trouble || row.backoff || row.healthy === false ? 'red' : 'soft'));
    return parts;
  }
  tile(name, node, fresh) {
    let tile = this.tiles.get(name);
    if (tile && tile.dataset.row !== node.row) { this.dropTile(name); tile = null; }
    if (!tile) {
      const parts = this.rows.get(node.row) || this.row(node.row, null);
      tile = h('button', { type: 'button', class: 'tile', 'data-name': name, 'data-row': node.row, tabindex: parts.count ? -1 : 0 });
      this.tiles.set(name, tile);
      parts.tiles.insertBefore(tile, parts.tiles.querySelector('.slot'));
      parts.count++;
    }
    setClass(tile, 'tile ' + node.state + (node.gpu === undefined ? '' : ' gpus') + (fresh && !tile.dataset.seen ? ' fresh' : ''));
    tile.dataset.seen = '1';
    tile.dataset.tip = name;
    const style = tile.style;
    style.setProperty('--c', Math.min(100, (node.cpu || 0) / 10));
    style.setProperty('--m', Math.min(100, (node.memory || 0) / 10));
    if (node.gpu !== undefined) style.setProperty('--g', Math.min(100, node.gpu / 10));
    tile.setAttribute('aria-label', name + ', ' + (words[node.state] || node.state));
  }
  dropTile(name) {
    const tile = this.tiles.get(name);
    if (!tile) return;
    const parts = this.rows.get(tile.dataset.row);
    if (parts) parts.count--;
    const heir = tile.tabIndex === 0 && (tile.nextElementSibling || tile.previousElementSibling);
    if (heir && heir.classList.contains('tile')) heir.tabIndex = 0;
    tile.remove();
    this.tiles.delete(name);
  }
  dropRow(name) {
    const parts = this.rows.get(name);
    if (!parts) return;
    for (const tile of parts.tiles.querySelectorAll('.tile')) this.tiles.delete(tile.dataset.name);
    parts.root.remove();
    this.rows.delete(name);
  }
  density() {
    for (const [name, parts] of this.rows) {
      const n = parts.count;
      // Room to grow, as seeds; where there is a lot of it, it says nothing.
      const max = Number(parts.root.dataset.room || 0);
      const slots = max <= 48 ? Math.max(0, max - n) : 0;
      for (; parts.slots < slots; parts.slots++) parts.tiles.append(h('i', { class: 'slot', 'aria-hidden': true }));
      for (; parts.slots > slots; parts.slots--) parts.tiles.lastElementChild.remove();
      setClass(parts.tiles, 'tiles' + (n > 300 ? ' very-many' : n > 60 ? ' many' : ''));
      if (!name) parts.root.hidden = n === 0;
    }
  }
}

const mostShapes = 60;
export class Waiting {
  items = new Map();
  more = h('li', { class: 'nothing', hidden: true });
  constructor(place, store) { this.place = place; this.store = store; place.append(this.more); }
  show(pending) {
    const all = Object.keys(pending).sort((a, b) => pending[b].count - pending[a].count || a.localeCompare(b));
    const names = all.slice(0, mostShapes);
    const shown = new Set(names);
    for (const [name, item] of [...this.items]) if (!shown.has(name)) { item.root.remove(); this.items.delete(name); }
    const others = all.slice(mostShapes);
    this.more.hidden = others.length === 0;
    setText(this.more, others.length ? `and ${others.length} more, ${plural(others.reduce((n, name) => n + pending[name].count, 0), 'pod')} in all` : '');
    for (const name of names) {
      const shape = pending[name];
      let item = this.items.get(name);
      if (!item) {
        item = { count: h('span', { class: 't' }), age: h('span', { class: 'end' }), asks: h('span', { class: 'y' }), why: h('span', { class: 'y' }), badge: h('span', {}) };
        item.link = h('a', { class: 'item' }, item.age, item.count, ' ', item.badge, item.asks, item.why);
        item.root = h('li', {}, item.link);
        this.items.set(name, item);
      }
      item.link.setAttribute('href', href('why', 'pod', shape.namespace, shape.pods[0]));
      setText(item.count, plural(shape.count, 'pod') + ' of ' + shape.owner);
      setText(item.badge, verdicts[shape.verdict || '']);
      setClass(item.badge, 'badge ' + (shape.verdict || ''));
      const other = Object.entries(shape.other || {}).map(([resource, n]) => ', ' + amount(resource, n) + ' ' + resource).join('');
      setText(item.asks, `each ${cpu(shape.cpuMillis)} cpu, ${bytes(shape.memoryBytes)}${other} \u00b7 ${shape.namespace}`);
      setText(item.why, shape.nearest || (shape.verdict === 'unhelped' || shape.verdict === 'unserved' ? shape.text : ''));
      item.oldest = shape.oldest;
    }
    names.forEach((name, i) => {
      const root = this.items.get(name).root;
      if (this.place.children[i] !== root) this.place.insertBefore(root, this.place.children[i] || null);
    });
    this.ages();
  }
  ages() {
    const now = this.store.now();
    for (const item of this.items.values()) setText(item.age, item.oldest ? span(now - item.oldest) : '');
  }
}

function figures(place) {
  const parts = {};
  const make = (key, title) => {
    parts[key] = h('dd', { class: 'n' });
    parts[key + 'Sub'] = h('dd', { class: 'sub' });
    return h('div', { class: 'figure' }, h('dt', {}, title), parts[key], parts[key + 'Sub']);
  };
  const meter = (key, title) => {
    parts[key] = h('b', { class: key });
    parts[key + 'Text'] = h('span', {});
    return h('div', { class: 'meter' }, h('span', {}, title), h('i', {}, parts[key]), parts[key + 'Text']);
  };
  place.append(h('dl', { class: 'figures' }, make('nodes', 'Nodes'), make('pods', 'Pods running'), make('pending', 'Pods waiting'), make('cost', 'Cost per hour'),
    h('div', { class: 'figure' }, h('dt', {}, 'Requested of what there is'), h('dd', { class: 'meters' }, meter('cpu', 'cpu'), meter('memory', 'memory')))));
  return (state) => {
    const t = state.total;
    if (t.nodes === undefined) return;
    setText(parts.nodes, String(t.nodes));
    setText(parts.nodesSub, [t.coming && t.coming + ' coming', t.unneeded && t.unneeded + ' not needed', t.leaving && t.leaving + ' leaving'].filter(Boolean).join(' \u00b7 ') || 'all in use');
    setText(parts.pods, String(t.running));
    setText(parts.podsSub, t.nodes ? (t.running / t.nodes).toFixed(1) + ' per node' : '');
    setText(parts.pending, String(t.pending));
    const stuck = Object.values(state.pending).filter((p) => p.verdict === 'unhelped' || p.verdict === 'unserved').reduce((n, p) => n + p.count, 0);
    setText(parts.pendingSub, t.pending === 0 ? 'nobody waits' : stuck ? stuck + ' that nothing helps' : 'help is on its way');
    setClass(parts.pendingSub, 'sub' + (stuck ? ' amber' : ''));
    setText(parts.cost, t.cost ? money(t.cost) : '\u2013');
    setText(parts.costSub, t.cost ? money(t.cost * 24) + ' a day at this size' : 'no prices known');
    for (const key of ['cpu', 'memory']) {
      parts[key].style.setProperty('--v', Math.min(100, t[key] / 10));
      setText(parts[key + 'Text'], Math.round(t[key] / 10) + '%');
    }
  };
}

export function nowPage(main, store) {
  main.append(h('h1', { class: 'hide' }, 'Now'));
  const showFigures = figures(main);
  const timeline = new Timeline(store);
  main.append(timeline.root);
  const rowsPlace = h('div', {});
  const waitingPlace = h('ul', { class: 'list' });
  const nobody = h('p', { class: 'nothing' }, 'Every pod has a node.');
  const feed = h('ol', { class: 'list' });
  const key = (name, text) => h('span', {}, h('i', { class: 'k-' + name }), text);
  main.append(h('div', { class: 'split' },
    h('section', { class: 'card', 'aria-labelledby': 'rows-title' }, h('header', {}, h('h2', { id: 'rows-title' }, 'Nodes by group and pool'),
      h('div', { class: 'end legend', 'aria-hidden': 'true' }, key('cpu', 'cpu'), key('memory', 'memory'), key('gpu', 'GPU'), key('coming', 'coming'), key('unneeded', 'not needed'), key('leaving', 'leaving'))), rowsPlace),
    h('div', { class: 'stack' },
      h('section', { class: 'card', 'aria-labelledby': 'waiting-title' }, h('header', {}, h('h2', { id: 'waiting-title' }, 'Waiting')), nobody, waitingPlace),
      h('section', { class: 'card', 'aria-labelledby': 'feed-title' }, h('header', {}, h('h2', { id: 'feed-title' }, 'Decided')), h('div', { class: 'feed', tabindex: 0, role: 'region', 'aria-labelledby': 'feed-title' }, feed)))));
  const gangs = h('ul', { class: 'list' });
  const gangsCard = h('section', { class: 'card', hidden: true, 'aria-labelledby': 'gangs-title' }, h('header', {}, h('h2', { id: 'gangs-title' }, 'Queues and gangs')), gangs);
  main.querySelector('.stack').firstElementChild.after(gangsCard);
  const rows = new Rows(rowsPlace, store);
  const waiting = new Waiting(waitingPlace, store);
  let shownQueues = '[]';
  const rest = () => {
    const state = store.shown;
    showFigures(state);
    waiting.show(state.pending);
    nobody.hidden = Object.keys(state.pending).length > 0;
    const queues = Object.entries(state.queues);
    gangsCard.hidden = queues.length === 0;
    const text = JSON.stringify(queues);
    if (text !== shownQueues) {
      shownQueues = text;
      gangs.replaceChildren(...queues.flatMap(([queue, q]) => [h('li', {}, h('span', { class: 'item' }, h('span', { class: 'end' }, q.share === undefined ? '' : Math.round(q.share * 100) + '% of its share'), h('span', { class: 't' }, 'Queue ' + queue), h('span', { class: 'y' }, [q.weight !== undefined && 'weight ' + q.weight, ...(q.amounts || []).filter((a) => a.held > 0).map((a) => amount(a.resource, a.held) + (a.deserved === undefined ? '' : ' of ' + amount(a.resource, a.deserved)) + ' ' + a.resource), q.waiting ? plural(q.waiting, 'gang') + ' waiting' : 'nobody waits'].filter(Boolean).join(' \u00b7 '))))].concat(q.gangs.slice(0, 40).map((gang) => h('li', {}, h('a', { class: 'item', href: href('why', 'gang', ...gang.gang.split('/')) }, h('span', { class: 'end' }, queue), h('span', { class: 't' }, gang.gang),
        h('span', { class: 'y' }, `needs ${gang.needs}, ${gang.placed} placed, ${plural(gang.waits, 'pod')} waiting` + (gang.admitted ? '' : ', not admitted') + (gang.price ? ', ' + money(gang.price) + '/h' : ''))))))));
    }
  };
  // Deltas that come between two frames are shown in one.
  let todo = [];
  let frame = 0;
  const paint = () => {
    frame = 0;
    const deltas = todo;
    todo = [];
    if (deltas.includes(null)) rows.all(store.shown);
    else for (const delta of deltas) rows.some(delta, store.shown);
    rest();
    if (deltas.includes(null)) loadFeed();
  };
  const plan = (delta) => { todo.push(delta); if (todo.length > 200) todo = [null]; if (!frame) frame = requestAnimationFrame(paint); };
  const whole = () => plan(null);
  const delta = (event) => plan(event.detail);
  const decision = (event) => {
    if (store.past) return;
    feed.prepend(decisionItem(event.detail));
    while (feed.childElementCount > 100) feed.lastElementChild.remove();
  };
  let feeds = 0;
  async function loadFeed() {
    const at = store.past ? store.past.at : 0;
    const turn = ++feeds;
    try {
      const list = (await ask('decisions?limit=100' + (at ? '&until=' + at : ''))).decisions;
      if (turn === feeds) feed.replaceChildren(...list.map(decisionItem));
    } catch { /* the next one comes with the stream */ }
  }
  store.addEventListener('whole', whole);
  store.addEventListener('delta', delta);
  store.addEventListener('decision', decision);
  const ages = setInterval(() => waiting.ages(), 1000);
  rows.all(store.shown);
  rest();
  loadFeed();
  return () => {
    store.removeEventListener('whole', whole);
    store.removeEventListener('delta', delta);
    store.removeEventListener('decision', decision);
    clearInterval(ages);
    cancelAnimationFrame(frame);
    timeline.end();
  };
}
