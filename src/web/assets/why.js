// The Why page: a pod that waits, a node that stays, a group or pool, a claim, a gang, a decision.
import { amount, ask, byId, h, money, plural, span, when } from './dom.js';
import { decisionItem } from './now.js';

const href = (...parts) => '#/' + parts.map(encodeURIComponent).join('/');
const table = (heads, rows, label) => h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label },
  h('table', {}, h('thead', {}, h('tr', {}, heads.map((head) => h('th', { scope: 'col', class: head.startsWith('#') ? 'n' : null }, head.replace('#', ''))))), h('tbody', {}, rows)));
const facts = (pairs) => h('dl', { class: 'facts' }, pairs.filter(([, value]) => value !== undefined && value !== '' && value !== null).flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));
const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function shortfall(lack) {
  const most = Math.max(lack.asked, lack.capacity) || 1;
  return h('div', {}, h('span', { class: 'lack', role: 'img', 'aria-label': `asks for ${amount(lack.resource, lack.asked)}, ${amount(lack.resource, lack.free)} free`, vars: { v: (100 * lack.asked) / most, f: Math.max(0, Math.min(99, (100 * lack.free) / most)) } }, h('b', {}), h('u', {})),
    h('span', { class: 'tiny soft' }, `${lack.resource}: asks for ${amount(lack.resource, lack.asked)}, ${amount(lack.resource, lack.free)} free of ${amount(lack.resource, lack.capacity)}`));
}

const changeOf = (no) => (no.wouldTakeIf || 'no change that is known of helps').replace(/^(group|pool) \S+ would take it if /, '');

const podVerdicts = {
  bought: 'A node was ordered for it and is on its way.', awaits: 'Another group than the one chosen last would take it; it is next in line.', unhelped: 'No group or pool would take it.',
  unserved: 'A group would take it, but its limits leave it no node.', fits: 'It fits a node that is there or on its way; nothing has to be bought.', gang: 'It waits for its gang, which starts as a whole.',
};
async function pod(place, store, namespace, name) {
  const why = await ask('explain?pod=' + encodeURIComponent(namespace + '/' + name));
  place.append(h('div', {}, h('h1', {}, name), h('p', { class: 'soft' }, 'Pod in ' + namespace + ', as of the pass at ' + when(why.passAt)),
    h('p', { class: 'verdict' }, podVerdicts[why.verdict] || (why.lines[0] ? upper(why.lines[0]) + '.' : 'It does not wait.'))));
  if (why.nearest) place.append(h('div', { class: 'flip' }, h('h2', {}, 'The one change that would flip it'), h('p', {}, upper(why.nearest) + '.')));
  if (why.groups) {
    place.append(h('div', { class: 'card' }, h('header', {}, h('h2', {}, 'What every group had against it')), table(['Group', 'The check that said no', 'By how much', 'Would take it if'],
      why.groups.map((group) => h('tr', {}, h('td', {}, h('a', { href: href('why', 'group', group.group) }, group.group)), h('td', {}, group.text), h('td', {}, (group.shortfalls || []).map(shortfall)),
        h('td', {}, changeOf(group)))), 'What every group had against it')));
  }
  if (why.scaleUp) place.append(scaleUp(why.scaleUp));
  if (why.machine) place.append(machines([why.machine]));
  if (why.ofGang) place.append(h('p', {}, h('a', { href: href('why', 'gang', ...why.ofGang.split('/')) }, 'Why ' + why.ofGang + ' waits')));
  if (!why.groups && why.lines.length) place.append(h('ul', {}, why.lines.map((line) => h('li', {}, line))));
  place.append(h('p', { class: 'small' }, h('a', { href: href('what-if') + '?like=' + encodeURIComponent(namespace + '/' + name) }, 'What if there were more of these?')));
}

async function node(place, store, name) {
  const why = await ask('explain?node=' + encodeURIComponent(name));
  const now = why.now || {};
  const stays = why.stays;
  const left = now.goesAt ? now.goesAt - store.liveNow() : 0;
  const verdict = now.state === 'draining' ? 'It is leaving: its pods are moved, then the machine goes.'
    : now.goesAt ? `Nobody needs it. If that stays so, it goes in ${span(left)}, at ${when(now.goesAt)}.`
      : stays ? 'It stays: ' + stays.text + '.' : now.state === 'booting' ? 'The machine is booting; its node has not registered yet.'
        : now.state === 'imagined' ? 'It is ordered; plans count on it already.' : why.lines[0] ? upper(why.lines[0]) + '.' : 'The last pass had nothing to decide about it.';
  place.append(h('div', {}, h('h1', {}, name), h('p', { class: 'soft' }, 'Node' + (now.row ? ' of ' : ''), now.row ? h('a', { href: href('why', 'group', now.row) }, now.row) : ''), h('p', { class: 'verdict' }, verdict)));
  const meter = (key, title) => now[key] === undefined ? null : h('div', { class: 'meter' }, h('span', {}, title), h('i', {}, h('b', { class: key, vars: { v: Math.min(100, now[key] / 10) } })), h('span', {}, Math.round(now[key] / 10) + '%'));
  place.append(h('div', { class: 'card' }, h('div', { class: 'meters' }, meter('cpu', 'cpu'), meter('memory', 'memory'), meter('gpu', 'GPU')),
    facts([['State', now.state], ['Pods', now.pods], ['Type', now.type], ['Zone', now.zone], ['Price', now.price && money(now.price) + ' per hour'], ['There since', now.since && when(now.since)],
      ['Unneeded since', now.unneededSince && when(now.unneededSince)], ['Expires', now.expiresAt && `${when(now.expiresAt)}, in ${span(now.expiresAt - store.liveNow())}`], ['Claim', now.claim && h('a', { href: href('why', 'claim', now.claim) }, now.claim)], ['Reason', stays && stays.reason], ['Threshold', stays && stays.threshold],
      ['Kept by', (stays && stays.pod) ? h('a', { href: href('why', 'pod', ...stays.pod.split('/')) }, stays.pod) : undefined], ['Because', stays && stays.podReason], ['Trouble', now.error]])));
  if (why.lines.length > 1) place.append(h('ul', {}, why.lines.map((line) => h('li', {}, line))));
  if (now.state === 'ready' || now.state === 'unneeded') place.append(h('p', { class: 'small' }, h('a', { href: href('what-if') + '?remove=' + encodeURIComponent(name) }, 'What if it were removed?')));
}

async function group(place, store, name) {
  const why = await ask('explain?group=' + encodeURIComponent(name));
  const now = why.now;
  place.append(h('div', {}, h('h1', {}, name), h('p', { class: 'soft' }, upper(now.kind) + (now.type ? ', ' + now.type : '') + (now.zone ? ' in ' + now.zone : '')),
    h('p', { class: 'verdict' }, (why.pool ? why.lines[0] + '.' : `${plural(now.target, 'node')} wanted, ${now.ready} ready, between ${now.min} and ${now.max}.`) + (now.backoff ? ' It is backed off: ' + now.backoff + '.' : ''))));
  place.append(h('div', { class: 'cols' }, h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'Whom it refuses, and why')),
    why.refusals.length ? h('ul', { class: 'list' }, why.refusals.map((r) => h('li', {}, h('a', { class: 'item', href: href('why', 'pod', ...r.pod.split('/')) }, h('span', { class: 't' }, plural(r.pods, 'pod') + ', such as ' + r.pod), h('span', { class: 'y' }, r.text))))) : h('p', { class: 'nothing' }, 'Nobody who waits now.')),
  h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'Decided about it')), why.decisions.length ? h('ol', { class: 'list' }, why.decisions.map(decisionItem)) : h('p', { class: 'nothing' }, 'Nothing yet.'))));
  if (now.backoffText) place.append(h('p', { class: 'red' }, now.backoffText));
}

function machines(list) {
  return h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'Machines asked for')), table(['Claim', 'Pool', 'May be', '#From, per hour', '#Pods'], list.map((m) => h('tr', {}, h('td', {}, m.claim ? h('a', { href: href('why', 'claim', m.claim) }, m.claim) : m.error),
    h('td', {}, h('a', { href: href('why', 'pool', m.pool) }, m.pool)), h('td', {}, m.types.join(', ') + (m.typeCount > m.types.length ? ` or one of ${m.typeCount - m.types.length} more` : '')), h('td', { class: 'n' }, money(m.price)), h('td', { class: 'n' }, String(m.pods.length)))), 'Machines asked for'));
}

async function claim(place, store, name) {
  const why = await ask('explain?claim=' + encodeURIComponent(name));
  const now = why.now;
  place.append(h('div', {}, h('h1', {}, name), h('p', { class: 'soft' }, 'Claim of pool ', h('a', { href: href('why', 'pool', now.pool) }, now.pool)), h('p', { class: 'verdict' }, now.stage + (now.text ? ': ' + now.text : '') + '.')),
    h('div', { class: 'card' }, facts([['Node', now.node && h('a', { href: href('why', 'node', now.node) }, now.node)], ['Type', now.type], ['Zone', now.zone], ['Bought as', now.capacityType], ['Price', now.price && money(now.price) + ' per hour'], ['Since', now.since && when(now.since)], ['Expires', now.expiresAt && `${when(now.expiresAt)}, in ${span(now.expiresAt - store.liveNow())}`]])),
    h('ul', {}, why.lines.map((line) => h('li', {}, line))));
}

// What machines for a gang would be, are, or why there are none: of the gang itself, or of a decision about it.
function machinesForGang(what) {
  const out = [];
  const lists = (title, heads, rows) => { if (rows.length) out.push(h('section', { class: 'card' }, h('header', {}, h('h2', {}, title)), table(heads, rows, title))); };
  out.push(h('div', { class: 'card' }, facts([['Machines', what.state], ['Blocked', what.blocked], ['Cost', what.price && money(what.price) + ' per hour'], ['On their way', what.coming], ['Tasks with room', what.withRoom],
    ['Held for it', what.heldNodes && what.heldNodes.length ? what.heldNodes.map((name, i) => [i ? ', ' : '', h('a', { href: href('why', 'node', name) }, name)]).flat() : undefined], ['Held until', what.heldUntil && when(what.heldUntil)]])));
  lists('What it lacks', ['Role', '#Tasks without room', 'Pods'], (what.lacking || []).map((lack) => h('tr', {}, h('td', {}, lack.role || 'any'), h('td', { class: 'n' }, String(lack.tasks)), h('td', {}, lack.created ? 'are there' : 'are not created yet'))));
  lists('What it would take', ['From', 'Sold by', '#Machines', '#On their way'], (what.lots || []).map((lot) => h('tr', {}, h('td', {}, lot.source), h('td', {}, lot.seller), h('td', { class: 'n' }, String(lot.machines)), h('td', { class: 'n' }, String(lot.claimed)))));
  if (what.refusals && what.refusals.length) out.push(h('ul', {}, what.refusals.map((text) => h('li', {}, text))));
  return out;
}

async function gang(place, store, name) {
  const why = await ask('explain?gang=' + encodeURIComponent(name));
  if (why.phase) { place.append(h('h1', {}, name), h('p', { class: 'verdict' }, `It is ${why.phase}: ${why.why}.`)); return; }
  place.append(h('div', {}, h('h1', {}, name), h('p', { class: 'soft' }, 'Gang of queue ' + why.queue), h('p', { class: 'verdict' }, (why.admitted ? 'It is admitted' : 'It is not admitted') + `: needs ${plural(why.needs, 'place')}, has ${why.placed}, ${plural(why.waits, 'pod')} waiting.`)),
    h('p', {}, why.why || 'No reason was given.'), why.session && why.session !== why.why ? h('p', { class: 'soft' }, 'The session: ' + why.session) : '');
  if (why.state) place.append(...machinesForGang(why));
}

function scaleUp(up) {
  const scores = (name) => (up.chosenBy || []).map((step) => (step.scores.find((score) => score.group === name) || {}).text).filter(Boolean).join('; ');
  const survived = (name) => (up.chosenBy || []).filter((step) => step.survivors.includes(name)).map((step) => step.expander).join(', ');
  const out = h('div', { class: 'stack' });
  if (up.options.length) {
    out.append(h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'What was compared'), h('span', { class: 'soft small' }, up.byLot ? 'equals: one was taken by lot' : '')),
      table(['Group', '#Nodes', '#Pods it helps', 'Measured', 'Kept by', ''], up.options.map((option) => h('tr', { class: option.group === up.chosen ? 'won' : null }, h('td', {}, h('a', { href: href('why', 'group', option.group) }, option.group)), h('td', { class: 'n' }, String(option.nodes)),
        h('td', { class: 'n' }, String(option.pods)), h('td', {}, scores(option.group) || '\u2013'), h('td', {}, survived(option.group) || '\u2013'), h('td', {}, option.group === up.chosen ? 'won' : ''))), 'What was compared')));
  }
  const names = up.triggered.slice(0, 40);
  if (names.length) out.append(h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'For ' + plural(up.triggered.length, 'pod'))), h('div', { class: 'chips' }, names.map((name) => h('span', {}, name)), up.triggered.length > 40 ? h('span', {}, 'and ' + (up.triggered.length - 40) + ' more') : null)));
  return out;
}

const kinds = { up: 'Bought', down: 'Removed', trouble: 'Trouble', waits: 'Nothing was bought', gang: 'For a gang' };
async function decision(place, store, id) {
  const what = await ask('decision?id=' + encodeURIComponent(id));
  place.append(h('div', {}, h('h1', {}, what.title), h('p', { class: 'soft' }, kinds[what.kind] + ', ' + when(what.at), what.row ? [' \u00b7 ', h('a', { href: href('why', 'group', what.row) }, what.row)] : null), h('p', { class: 'verdict' }, upper(what.why) + '.')));
  const detail = what.detail;
  if (!detail) return;
  if (detail.state) {
    place.append(h('p', { class: 'small' }, h('a', { href: href('why', 'gang', ...what.title.replace(/^gang /, '').split('/')) }, 'How it is with this gang now')), ...machinesForGang(detail));
  }
  if (detail.evicted) place.append(h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'Who had to make room')), table(['Pod', 'Why'], detail.evicted.map((one) => h('tr', {}, h('td', {}, one.pod), h('td', {}, one.why))), 'Who had to make room')));
  if (detail.pools) {
    if (detail.nearest) place.append(h('div', { class: 'flip' }, h('h2', {}, 'The one change that would flip it'), h('p', {}, upper(detail.nearest) + '.')));
    place.append(h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'What every pool had against them')), table(['Pool', 'Why not', 'By how much', 'Would take them if'], detail.pools.map((no) => h('tr', {}, h('td', {}, h('a', { href: href('why', 'pool', no.group) }, no.group)), h('td', {}, no.text), h('td', {}, (no.shortfalls || []).map(shortfall)), h('td', {}, changeOf(no)))), 'What every pool had against them')));
  }
  if (detail.options) place.append(scaleUp(detail));
  if (detail.machines) place.append(machines(detail.machines));
  if (detail.command) place.append(h('div', { class: 'card' }, facts([['Reason', detail.command.reason], ['Decision', detail.command.decision], ['Stage', detail.command.stage], ['Why', detail.command.text], ['Nodes', detail.command.nodes.join(', ')], ['In their place', detail.command.replacements.join(', ')], ['Cost before', money(detail.command.priceBefore) + ' per hour'], ['Saves', money(detail.command.savings) + ' per hour']])));
  if (detail.moves && detail.moves.length) place.append(h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'Where its pods fit')), table(['Pod', 'Node with room'], detail.moves.map((move) => h('tr', {}, h('td', {}, move.pod), h('td', {}, move.node))), 'Where its pods fit')));
  if (detail.misses) {
    if (detail.misses.length) place.append(h('div', { class: 'flip' }, h('h2', {}, 'The one change that would flip it'), h('p', {}, upper(detail.misses[0].text) + '.')));
    place.append(h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'What every group had against them')), table(['Group', 'Said no', 'By how much'], Object.entries(detail.groups).map(([name, no]) => h('tr', {}, h('td', {}, name),
      h('td', {}, (no.reasons || no.skipped || []).join(', ')), h('td', {}, (no.shortfalls || []).map(shortfall)))), 'What every group had against them')));
  }
}

function suggestions(place, store) {
  const { pending, nodes } = store.live;
  const pods = Object.values(pending).sort((a, b) => (a.oldest || 0) - (b.oldest || 0)).slice(0, 12);
  const idle = Object.entries(nodes).filter(([, n]) => n.state === 'unneeded' || (n.reason && !['NotUnderutilized', 'NodeGroupMinSizeReached'].includes(n.reason))).slice(0, 12);
  place.append(h('div', { class: 'cols' },
    h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'Pods that wait')), pods.length ? h('ul', { class: 'list' }, pods.map((shape) => h('li', {}, h('a', { class: 'item', href: href('why', 'pod', shape.namespace, shape.pods[0]) },
      h('span', { class: 'end' }, shape.oldest ? span(store.liveNow() - shape.oldest) : ''), h('span', { class: 't' }, shape.namespace + '/' + shape.pods[0]), h('span', { class: 'y' }, shape.count > 1 ? 'and ' + (shape.count - 1) + ' like it' : shape.kind + ' ' + shape.owner))))) : h('p', { class: 'nothing' }, 'None: every pod has a node.')),
    h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'Nodes worth a question')), idle.length ? h('ul', { class: 'list' }, idle.map(([name, n]) => h('li', {}, h('a', { class: 'item', href: href('why', 'node', name) }, h('span', { class: 'end' }, n.goesAt ? 'goes in ' + span(n.goesAt - store.liveNow()) : ''), h('span', { class: 't' }, name), h('span', { class: 'y' }, n.reason || n.state))))) : h('p', { class: 'nothing' }, 'None: all are in use.'))));
}

// What a name means: whatever of that name is shown, else a pod if it looks like one.
function subjectOf(text, { nodes, rows, queues }) {
  if (nodes[text]) return href('why', 'node', text);
  if (rows[text]) return href('why', rows[text].kind === 'pool' ? 'pool' : 'group', text);
  const claim = text.replace(/^claim\//, '');
  if (nodes['claim/' + claim] || Object.values(nodes).some((n) => n.claim === claim)) return href('why', 'claim', claim);
  if (Object.values(queues).some((queue) => queue.gangs.some((gang) => gang.gang === text))) return href('why', 'gang', ...text.split('/'));
  return text.includes('/') ? href('why', 'pod', ...text.split('/')) : href('why', 'node', text);
}

// Reasons are kept of the last pass only: who comes here from the past is told so, and what was known then.
function fromThePast(store, kind, name) {
  const { past } = store;
  const then = kind === 'node' ? past.nodes[name] : kind === 'group' || kind === 'pool' ? past.rows[name] : undefined;
  const known = !then ? '' : kind === 'node' ? ` Then ${name} was ${then.state}` + (then.row ? ' in ' + then.row : '') + (then.reason ? ', ' + then.reason : '') + '.' : ` Then ${name} had ${plural(then.ready, 'ready node')}.`;
  return h('div', { class: 'past', id: 'from-past' }, h('span', {}, `You come from ${when(past.at)} UTC; Why is about now.${known}`), h('button', { type: 'button', class: 'quiet', onclick: () => { store.goLive(); byId('from-past').remove(); } }, 'Back to now'));
}

export function whyPage(main, store, [kind, ...name]) {
  const input = h('input', { class: 'field', id: 'subject', type: 'search', placeholder: 'namespace/pod, node, group, pool, claim or namespace/gang', autocomplete: 'off', spellcheck: 'false', value: kind === 'decision' ? '' : name.join('/') });
  const find = (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (text) location.hash = subjectOf(text, store.live);
  };
  const place = h('div', { class: 'stack' });
  main.append(h('form', { class: 'ask', role: 'search', onsubmit: find }, h('label', { class: 'hide', for: 'subject' }, 'Pod, node, group, pool, claim or gang'), input, h('button', { class: 'main-button' }, 'Why?')));
  if (store.past && kind && kind !== 'decision') main.append(fromThePast(store, kind, name.join('/')));
  main.append(place);
  const answers = { pod: (p) => pod(p, store, name[0], name.slice(1).join('/')), node: (p) => node(p, store, name.join('/')), group: (p) => group(p, store, name.join('/')), pool: (p) => group(p, store, name.join('/')), claim: (p) => claim(p, store, name.join('/')), gang: (p) => gang(p, store, name.join('/')), decision: (p) => decision(p, store, name[0]) };
  if (!answers[kind]) {
    place.append(h('div', {}, h('h1', {}, 'Why?'), h('p', { class: 'lead' }, 'Every no has a reason: the check that said it, by how much, and the one change that would turn it into a yes.')));
    suggestions(place, store);
    return null;
  }
  let over = false;
  answers[kind](place).catch((problem) => {
    if (over) return;
    place.replaceChildren(h('h1', {}, name.join('/')), h('p', { class: 'verdict', role: 'alert' }, upper(problem.message) + '.'));
    suggestions(place, store);
  });
  return () => { over = true; };
}
