// Whether src/web/assets/openapi.yaml is true: every path of it is asked of a running server, with arguments as the schema has them and
// with wrong ones, and each answer is held against its schema: api_test.mjs COPPICE
import { check, each, load, start, until } from './lib.mjs';

const { parse } = load('yaml');
const Ajv = load('ajv/dist/2020').default;
const server = start(process.argv[2], ['run', '--seed', '3', '--speed', '1000', '--for', '72h', '--web-address', '127.0.0.1:0']);
const url = (await server.url) + '/api/v1';
const api = parse(await (await fetch(url + '/openapi.yaml')).text());
const ajv = new Ajv({ strict: false, validateFormats: false });
ajv.addSchema({ $id: 'api', components: api.components });
const rooted = (schema) => JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"api#/components'));
const resolve = (thing) => thing.$ref ? thing.$ref.slice(2).split('/').reduce((at, key) => at[key], api) : thing;

let seed = 12345;
const draw = (n) => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed % n; };
const pick = (list) => list[draw(list.length)];

async function ask(path, method, query, body) {
  const target = url + path + (query.length ? '?' + query.map(([k, v]) => k + '=' + encodeURIComponent(v)).join('&') : '');
  const stop = new AbortController();
  const answer = await fetch(target, { method: method.toUpperCase(), signal: stop.signal, headers: body === undefined ? {} : { 'Content-Type': 'application/json' }, body });
  const type = answer.headers.get('content-type');
  if (type.startsWith('text/event-stream')) { stop.abort(); return { status: answer.status, type: 'text/event-stream', target }; }
  return { status: answer.status, type: type.split(';')[0], text: await answer.text(), target };
}

function hold(operation, answer) {
  const described = operation.responses[answer.status] || operation.responses.default;
  check(described, `${answer.target}: ${answer.status} is not described`);
  const content = resolve(described).content[answer.type];
  check(content, `${answer.target}: ${answer.status} comes as ${answer.type}`);
  if (answer.type !== 'application/json') return;
  const validate = ajv.compile(rooted(content.schema));
  check(validate(JSON.parse(answer.text)), `${answer.target}: ${ajv.errorsText(validate.errors)} in ${answer.text.slice(0, 300)}`);
}

const wild = ['', '-1', 'x', '99999999999999999999999', '\u0000', '../..', 'a/b', '\u{1f333}', '1e999', '0', '5', "';--", '%00', 'nan'];
await until(async () => (await (await fetch(url + '/decisions')).json()).decisions.length > 3, 'decisions', 60);
const now = await (await fetch(url + '/state')).json();
const known = { pod: () => { const p = pick(Object.values(now.pending || {})); return p ? p.namespace + '/' + p.pods[0] : 'a/b'; }, node: () => pick(Object.keys(now.nodes)), group: () => pick(Object.keys(now.rows)), pool: () => pick(Object.keys(now.rows)), at: () => String(now.at - draw(7200)), from: () => String(now.at - 7200), to: () => String(now.at), id: () => String(1 + draw(4)), since: () => String(now.seq), points: () => '100', before: () => '4', limit: () => '10' };
const bodies = { '/control': ['{"speed":500}', '{"paused":false}'], '/whatif': ['{"addPods":{"count":20,"cpu":"1","memory":"1Gi"}}', '{"removeNodes":["nobody"]}'], '/session': ['{"token":"x"}'] };

const cases = [];
for (const [path, item] of Object.entries(api.paths)) {
  for (const [method, operation] of Object.entries(item)) {
    cases.push([`${method} ${path} answers as it is described`, async () => {
      const names = (operation.parameters || []).map((p) => p.name);
      for (let round = 0; round < 40; round++) {
        const right = round % 2 === 0;
        const chosen = path === '/explain' ? [pick(names)] : names.filter((name) => (operation.parameters.find((p) => p.name === name).required && right) || draw(2));
        const query = chosen.map((name) => [name, right ? known[name]() : pick(wild)]);
        const body = method !== 'post' ? undefined : right ? pick(bodies[path]) : pick(['', '[]', '{}', '{"x":1}', '{"addPods":{"count":-1}}', '{"speed":"fast"}', '\u0000', '{"token":1}', '{"removeNodes":' + '['.repeat(2000)]);
        const answer = await ask(path, method, query, body);
        hold(operation, answer);
        if (right && method === 'get' && !['/explain', '/decision', '/whatif'].includes(path)) check(answer.status === 200, `${answer.target}: ${answer.status} ${answer.text}`);
        check(answer.status !== 500, answer.target);
      }
    }]);
  }
}
cases.push(['a question is answered in the form that is described', async () => {
  const { id } = await until(async () => { const a = await (await fetch(url + '/whatif', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: bodies['/whatif'][0] })).json(); return a.id && a; }, 'the desk');
  const done = await until(async () => { const a = await ask('/whatif', 'get', [['id', id]]); hold(api.paths['/whatif'].get, a); return JSON.parse(a.text).state !== 'running' && JSON.parse(a.text); }, 'the answer', 40);
  check(done.state === 'done' && done.answer.groups.some((g) => g.with >= g.without), JSON.stringify(done).slice(0, 300));
}]);
await each(cases);
await server.stop();
