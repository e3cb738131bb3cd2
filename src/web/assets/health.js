// The Health page: the last passes by stage, what went wrong, how fresh the view is, who leads, certificates, what is linked in, memory.
import { ask, bytes, h, plural, span, when } from './dom.js';

const ms = (n) => n >= 1000 ? (n / 1000).toFixed(1) + ' s' : n >= 10 ? Math.round(n) + ' ms' : n.toFixed(1) + ' ms';
const facts = (pairs) => h('dl', { class: 'facts' }, pairs.filter(([, value]) => value !== undefined && value !== '').flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));
const region = (label, ...inside) => h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label }, ...inside);

function passes(list) {
  if (!list.length) return h('p', { class: 'nothing' }, 'No pass has ended yet.');
  const times = list.map((pass) => pass.tookMs).sort((a, b) => a - b);
  const most = times[times.length - 1] || 1;
  const stages = [...new Set(list.flatMap((pass) => Object.entries(pass.stages).filter(([, t]) => t > 0).map(([name]) => name)))].slice(0, 8);
  return [h('p', { class: 'small soft' }, `${plural(list.length, 'pass', 'passes')}: half took at most ${ms(times[Math.floor(times.length / 2)])}, the slowest ${ms(most)}`),
    h('div', { class: 'bars', role: 'img', 'aria-label': 'How long the last passes took' }, [...list].reverse().map((pass) => h('i', { class: pass.error ? 'bad' : null, vars: { v: Math.max(2, (100 * pass.tookMs) / most) } }))),
    region('The last passes', h('table', {}, h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'At'), h('th', { scope: 'col', class: 'n' }, 'Took'), stages.map((name) => h('th', { scope: 'col', class: 'n' }, name)), h('th', { scope: 'col' }, 'Scale-up'), h('th', { scope: 'col' }, 'Scale-down'))),
      h('tbody', {}, list.slice(0, 8).map((pass) => h('tr', {}, h('td', {}, when(pass.at)), h('td', { class: 'n' }, ms(pass.tookMs)), stages.map((name) => h('td', { class: 'n' }, pass.stages[name] === undefined ? '' : ms(pass.stages[name]))), h('td', {}, pass.error ? h('span', { class: 'red' }, pass.error) : pass.scaleUp), h('td', {}, pass.scaleDown))))))];
}

const table = (label, heads, rows) => region(label, h('table', {}, h('thead', {}, h('tr', {}, heads.map((head) => head.startsWith('#') ? h('th', { scope: 'col', class: 'n' }, head.slice(1)) : h('th', { scope: 'col' }, head)))), h('tbody', {}, rows)));
const card = (title, ...inside) => h('section', { class: 'card' }, h('header', {}, h('h2', {}, title)), ...inside);

// Errors that were counted, of whichever engine; what the API server refused; what the last troubles were.
function errors(health) {
  const counted = health.errors || [];
  const refused = health.apiFailures || [];
  const troubles = health.troubles || [];
  if (!counted.length && !refused.length && !troubles.length) return card('What went wrong', h('p', { class: 'nothing' }, 'Nothing that was counted.'));
  return card('What went wrong',
    counted.length ? table('Errors since the start', ['Counted since the start', 'Which', '#Times'], counted.map((e) => h('tr', {}, h('td', {}, e.name), h('td', {}, e.labels), h('td', { class: 'n' }, String(e.count))))) : null,
    refused.length ? table('Requests that the API server did not do', ['API server', 'Why', '#Times', '#Last'], refused.map((e) => h('tr', {}, h('td', {}, `${e.method} ${e.path}` + (e.status ? ` (${e.status})` : '')), h('td', {}, e.why), h('td', { class: 'n' }, String(e.times)), h('td', { class: 'n' }, span(e.agoSeconds) + ' ago')))) : null,
    troubles.length ? table('The last troubles', ['At', 'What', 'Why'], troubles.map((d) => h('tr', {}, h('td', {}, when(d.at)), h('td', {}, d.title), h('td', {}, d.why)))) : null);
}

function certificates(health) {
  const list = [...(health.certificates || []), ...(health.apiCertificate || [])];
  if (!list.length) return null;
  const left = (c) => c.notAfter - Date.now() / 1000;
  return card('Certificates', table('Certificates', ['Certificate', '#Ends'], list.map((c) => h('tr', {}, h('td', {}, c.what), c.error ? h('td', { class: 'red' }, c.error) : h('td', { class: 'n' + (left(c) < 14 * 86400 ? ' red' : '') }, left(c) < 0 ? 'has ended' : 'in ' + span(left(c)))))));
}

function leader(health) {
  if (health.leaderElection === undefined) return undefined;
  if (!health.leaderElection) return 'no election';
  return health.leads ? 'this process' : health.leader || 'nobody, as far as is known';
}

// What the passes over node pools and the sessions of the batch scheduler took, as that of passes over groups.
function engine(e) {
  const list = e.passes || [];
  const stages = [...new Set(list.flatMap((pass) => Object.keys(pass.stages)))].slice(0, 8);
  return [h('h3', { class: 'soft' }, e.engine), facts([['Last pass', when(e.at)], ['Took', e.tookMs === undefined ? undefined : ms(e.tookMs)], ['Waiting', String(e.waits)], ['Under way', e.underWay || undefined], ['Error', e.error]]),
    list.length ? table('The last passes of ' + e.engine, ['At', '#Took', ...stages.map((name) => '#' + name)], list.slice(0, 8).map((pass) => h('tr', {}, h('td', {}, when(pass.at)), h('td', { class: 'n' + (pass.error ? ' red' : '') }, ms(pass.tookMs)), stages.map((name) => h('td', { class: 'n' }, pass.stages[name] === undefined ? '' : ms(pass.stages[name])))))) : null];
}

function draw(place, health) {
  const kinds = health.kinds || [];
  place.replaceChildren(
    h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'Passes')), passes(health.passes)),
    errors(health),
    h('div', { class: 'cols first' },
      h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'This process'), health.healthy === undefined ? null : h('span', { class: 'badge ' + (health.healthy ? 'ok' : 'bad') }, health.healthy ? 'healthy' : 'not healthy')),
        facts([['Version', health.version], ['Memory', bytes(health.rssBytes)], ['History', health.history.since ? `${bytes(health.history.bytes)}, since ${when(health.history.since)}` : 'none yet'], ['Pages open', String(health.watchers)], ['Trouble', health.trouble],
          ['Identity', health.identity], ['Leader', leader(health)], ['Dry run', health.dryRun === undefined ? undefined : health.dryRun ? 'yes: nothing is changed' : 'no'], ['API server', health.server]])),
      (health.engines || []).length ? h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'Other engines')), health.engines.map(engine).flat()) : null,
      (health.extenders || []).length ? h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'Extenders')), health.extenders.map((e) => facts([['Extender', e.name], ['Breaker', e.breaker], ['Last failure', e.lastFailure]]))) : null,
      certificates(health),
      kinds.length ? h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'How old the view is')), region('Kinds', h('table', {}, h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Kind'), h('th', { scope: 'col', class: 'n' }, 'Heard of'))),
        h('tbody', {}, kinds.map((kind) => h('tr', {}, h('td', {}, kind.kind), h('td', { class: 'n' + (kind.ageSeconds > (health.maxViewAgeSeconds || 180) ? ' red' : '') }, span(kind.ageSeconds) + ' ago'))))))) : null,
      h('section', { class: 'card' }, h('header', {}, h('h2', {}, 'Linked in')), Object.entries(health.plugins || {}).map(([kind, names]) => [h('h3', { class: 'soft' }, kind), h('p', { class: 'chips' }, names.map((name) => h('span', {}, name)))]).flat())));
}

export function healthPage(main) {
  const place = h('div', { class: 'stack' });
  main.append(h('h1', {}, 'Health'), h('p', { class: 'lead' }, 'The process that decides, not the cluster that it decides on.'), place);
  let over = false;
  const load = async () => {
    try {
      const health = await ask('health');
      // Whoever is in the middle of a table is not thrown out of it.
      if (!over && !place.contains(document.activeElement)) draw(place, health);
    } catch { /* shown by the light in the bar */ }
  };
  load();
  const timer = setInterval(() => { if (!document.hidden) load(); }, 3000);
  return () => { over = true; clearInterval(timer); };
}
