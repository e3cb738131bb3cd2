// The What if page: a change, and the engine's answer on a copy of the cluster, as a difference. Nothing is touched.
import { ask, h, money, plural, say, span } from './dom.js';

const select = (id, names, first, chosen) => h('select', { id }, h('option', { value: '' }, first), names.map((name) => h('option', { value: name, selected: name === chosen }, name)));
const field = (id, label, input) => [h('label', { for: id }, label), input];
const signed = (n, text) => n === 0 ? h('span', { class: 'soft' }, 'no change') : h('span', { class: n > 0 ? 'plus' : 'minus' }, (n > 0 ? '+' : '\u2212') + text(Math.abs(n)));

function question(form) {
  const value = (id) => form.querySelector('#' + id).value.trim();
  const out = {};
  if (value('remove')) out.removeNodes = [value('remove')];
  const count = Number(value('count'));
  if (count > 0) {
    out.addPods = { count };
    if (value('like')) out.addPods.like = value('like');
    else {
      if (value('cpu')) out.addPods.cpu = value('cpu');
      if (value('memory')) out.addPods.memory = value('memory');
    }
  }
  const grow = form.querySelector('#grow').selectedOptions[0];
  if (value('grow') && value('max') !== '') {
    const { pool, resource } = grow.dataset;
    if (pool) out.limits = { [pool]: { [resource]: value('max') } };
    else out.maxSizes = { [value('grow')]: Number(value('max')) };
  }
  if (value('forbid')) out.forbidTypes = [value('forbid')];
  return out;
}

// What can be raised: a group's maximum, and each limit of a pool; of every pool also its nodes.
function maxima(rows) {
  const options = [];
  for (const name of Object.keys(rows).sort()) {
    const row = rows[name];
    if (row.kind === 'group') { options.push(h('option', { value: name, 'data-twice': row.max * 2 }, name)); continue; }
    const limits = new Map((row.limits || '').split(', ').filter(Boolean).map((limit) => limit.split(' ')));
    if (!limits.has('nodes')) limits.set('nodes', '');
    for (const [resource, amount] of limits) options.push(h('option', { value: 'pool ' + name + ' ' + resource, 'data-pool': name, 'data-resource': resource, 'data-twice': twice(amount) }, `${name}: ${resource}`));
  }
  return options;
}
const twice = (amount) => { const [, number, unit] = /^(\d+)(\D*)$/.exec(amount) || []; return number ? Number(number) * 2 + unit : ''; };

function groupsTable(answer) {
  const most = Math.max(1, ...answer.groups.flatMap((g) => [g.now, g.without, g.with]));
  return h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Groups and pools' }, h('table', {}, h('thead', {}, h('tr', {}, ['Group or pool', 'Now', 'Left alone', 'With the change', '', 'Difference'].map((t, i) => h('th', { scope: 'col', class: i > 0 && i < 4 ? 'n' : null }, t)))),
    h('tbody', {}, answer.groups.map((g) => h('tr', { class: g.with !== g.without ? 'won' : null }, h('td', {}, g.group), h('td', { class: 'n' }, String(g.now)), h('td', { class: 'n' }, String(g.without)), h('td', { class: 'n' }, String(g.with)),
      h('td', {}, h('span', { class: 'shift', 'aria-hidden': 'true' }, h('i', { vars: { v: (100 * g.without) / most } }), h('i', { class: g.with < g.without ? 'less' : 'with', vars: { v: (100 * g.with) / most } }))),
      h('td', {}, signed(g.with - g.without, (n) => plural(n, 'node'))))))));
}

const fates = { moves: 'moves to', staysBehind: 'stays behind', waits: 'waits', blocks: 'blocks', noPlace: 'finds no place' };
function show(place, answer) {
  const nodes = answer.groups.reduce((n, g) => n + g.with - g.without, 0);
  const cost = answer.cost.with - answer.cost.without;
  const stuck = answer.unhelped.reduce((n, u) => n + u.pods, 0) - answer.unhelpedWithout.reduce((n, u) => n + u.pods, 0);
  const sentence = (nodes === 0 ? 'The cluster ends up with as many nodes' : `The cluster ends up with ${plural(Math.abs(nodes), 'node')} ${nodes > 0 ? 'more' : 'fewer'}`) +
    (Math.abs(cost) >= 0.005 ? `, ${money(Math.abs(cost))} per hour ${cost > 0 ? 'dearer' : 'cheaper'}` : ', at the same cost') + (stuck > 0 ? `, and ${plural(stuck, 'pod')} would wait that nothing helps.` : stuck < 0 ? `, and ${plural(-stuck, 'pod')} fewer would wait.` : '.');
  place.replaceChildren(h('p', { class: 'verdict', id: 'answer' }, sentence),
    h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'Nodes'), h('span', { class: 'end soft small' }, `cost per hour: now ${money(answer.cost.now)}, left alone ${money(answer.cost.without)}, with the change ${money(answer.cost.with)}`)), groupsTable(answer)));
  for (const removal of answer.removals) {
    place.append(h('section', { class: 'card' }, h('header', {}, h('h2', {}, removal.node + (removal.drains ? ' drains' : ' does not drain')), h('span', { class: 'badge ' + (removal.drains ? 'ok' : 'bad') }, removal.drains ? (removal.atOnce ? 'all at once' : 'as budgets allow') : 'blocked')),
      removal.why ? h('p', { class: 'nothing' }, removal.why) : null,
      removal.pods.length ? h('ul', { class: 'list' }, removal.pods.map((p) => h('li', {}, h('span', { class: 'item' }, h('span', { class: 't' }, p.pod), h('span', { class: 'y' }, (fates[p.fate] || p.fate) + ' ' + p.text))))) : h('p', { class: 'nothing' }, 'No pod has to move.')));
  }
  if (answer.unhelped.length) {
    place.append(h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'Whom nothing helps, with the change')), h('ul', { class: 'list' }, answer.unhelped.map((u) => h('li', {}, h('span', { class: 'item' }, h('span', { class: 't' }, plural(u.pods, 'pod') + ': ' + u.names), h('span', { class: 'y' }, u.why + (u.nearest ? '; ' + u.nearest : ''))))))));
  }
  if (answer.gangs && answer.gangs.length) {
    place.append(h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'Gangs, with the change')), h('ul', { class: 'list' }, answer.gangs.map((g) => h('li', {}, h('span', { class: 'item' }, h('span', { class: 't' }, g.gang + (g.starts ? ' starts' : ' waits')), h('span', { class: 'y' }, g.text)))))));
  }
  const steps = answer.steps.slice(0, 30);
  place.append(h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'What it would do'), h('span', { class: 'end soft small' }, answer.settled ? 'then nothing more' : 'and it would go on')), steps.length ? h('ol', { class: 'list' }, steps.map((step) => h('li', {}, h('span', { class: 'item' }, h('span', { class: 'end' }, 'after ' + span(step.afterSeconds)),
    step.bought.map((b) => h('span', { class: 't' }, h('span', { class: 'm up', 'aria-hidden': 'true' }, '\u25b2'), `${b.group} ${b.from} \u2192 ${b.to} `)), step.removed.length ? h('span', { class: 't' }, h('span', { class: 'm down', 'aria-hidden': 'true' }, '\u25bc'), step.removed.join(', ')) : null)))) : h('p', { class: 'nothing' }, 'Nothing at all.')));
  for (const note of answer.notes) place.append(h('p', { class: 'small soft' }, note));
}

export function whatIfPage(main, store, _, query) {
  const { nodes, rows, pending } = store.live; // it is worked out on the cluster as it is now
  const real = Object.keys(nodes).filter((name) => ['ready', 'unneeded', 'cordoned'].includes(nodes[name].state)).sort();
  const types = [...new Set([...Object.values(rows), ...Object.values(nodes)].map((one) => one.type).filter(Boolean))].sort();
  const like = query.get('like') || '';
  const form = h('form', {}, h('div', { class: 'form' },
    h('fieldset', {}, h('legend', {}, 'Remove a node'), field('remove', 'Node', select('remove', real, 'none', query.get('remove')))),
    h('fieldset', {}, h('legend', {}, 'Add pods'), field('count', 'How many', h('input', { class: 'field', id: 'count', type: 'number', min: 0, max: 10000, value: like ? 50 : 0 })),
      field('like', 'Like this pod or owner (namespace/name)', h('input', { class: 'field', id: 'like', list: 'likes', value: like, autocomplete: 'off' })), h('datalist', { id: 'likes' }, Object.values(pending).map((p) => h('option', { value: p.namespace + '/' + p.owner }))),
      h('div', { class: 'two' }, h('div', {}, field('cpu', 'or cpu each', h('input', { class: 'field', id: 'cpu', value: like ? '' : '1' }))), h('div', {}, field('memory', 'and memory', h('input', { class: 'field', id: 'memory', value: like ? '' : '2Gi' }))))),
    h('fieldset', {}, h('legend', {}, 'Change a maximum'), field('grow', 'Group, or limit of a pool', h('select', { id: 'grow' }, h('option', { value: '' }, 'none'), maxima(rows))), field('max', 'To', h('input', { class: 'field', id: 'max', type: 'number', min: 0, max: 100000 }))),
    h('fieldset', {}, h('legend', {}, 'Buy no more of a type'), field('forbid', 'Type', select('forbid', types, 'none')))),
  h('button', { class: 'main-button', id: 'ask' }, 'Work it out'), ' ', h('span', { class: 'small soft' }, 'On a copy of the cluster; nothing is touched.'));
  const place = h('div', { class: 'stack', id: 'result' });
  let over = false;
  const grow = form.querySelector('#grow');
  grow.addEventListener('change', () => {
    const { pool, twice: proposed } = grow.selectedOptions[0].dataset;
    const max = form.querySelector('#max');
    max.type = pool ? 'text' : 'number'; // an amount as Kubernetes writes it: 64, 128Gi
    max.value = proposed || '';
  });
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const asked = question(form);
    if (!Object.keys(asked).length) { place.replaceChildren(h('p', { class: 'verdict', role: 'alert' }, 'The question is empty: change something.')); return; }
    const button = form.querySelector('#ask');
    button.disabled = true;
    place.replaceChildren(h('p', { class: 'verdict soft' }, 'Working it out\u2026'));
    try {
      let { id, state, answer, error } = await ask('whatif', asked);
      while (!over && state === 'running') {
        await new Promise((done) => setTimeout(done, 150));
        ({ id, state, answer, error } = await ask('whatif?id=' + id));
      }
      if (over) return;
      if (state === 'done') { show(place, answer); say('The answer is there'); } else place.replaceChildren(h('p', { class: 'verdict red' }, error));
    } catch (problem) {
      place.replaceChildren(h('p', { class: 'verdict red', role: 'alert' }, problem.message));
    }
    button.disabled = false;
  });
  main.append(h('h1', {}, 'What if?'), h('p', { class: 'lead' }, 'The engine plays both on a copy of the cluster as it is now, with the change and without, until it has nothing left to do. The answer is the difference.'), form, place);
  return () => { over = true; };
}
