// Whether src/web/assets/openapi.yaml is true: every path of it is asked of a running server with arguments and bodies that are drawn from
// their schemas. What a schema allows is not refused for its form; what it does not allow is; and each answer is held against its schema:
//   api_test.mjs COPPICE WEB_CROWD [ROUNDS [SEED]]
import { check, each, load, start, until } from './lib.mjs';

const { parse } = load('yaml');
const Ajv = load('ajv/dist/2020').default;
const rounds = Number(process.argv[4] || 150);
let seed = Number(process.argv[5] || 12345);
const ajv = new Ajv({ strict: false, validateFormats: false });
const draw = (n) => { seed = (Math.imul(seed, 1103515245) + 12345) >>> 0; return (seed >>> 8) % n; };
const pick = (list) => list[draw(list.length)];

// ---- Values from a schema.

const letters = ['a', 'Z', '0', '-', '_', '/', '.', ' ', '%', '&', '+', '"', '\\', '\u00e9', '\u{1f333}', '\u202e', "'", '<', '{'];
const word = (most) => Array.from({ length: draw(Math.min(most, 24)) }, () => pick(letters)).join('');

// One that the schema allows. `known` names what there is, so that answers are not all "there is none".
function right(schema, known = [], depth = 0) {
  const s = resolve(schema);
  if (s.enum) return pick(s.enum);
  const type = Array.isArray(s.type) ? pick(s.type) : s.type;
  if (type === 'boolean') return draw(2) === 1;
  if (type === 'integer' || type === 'number') {
    const least = s.minimum ?? (s.exclusiveMinimum !== undefined ? s.exclusiveMinimum + (type === 'integer' ? 1 : 0.5) : -1e6);
    const most = s.maximum ?? 1e6;
    const edge = pick([least, most, Math.min(most, Math.max(least, 0)), Math.min(most, Math.max(least, 1)), least + draw(1000) * Math.max(0, (most - least) / 1000)]);
    const numbers = known.filter((one) => typeof one === 'number');
    if (numbers.length && draw(2)) return pick(numbers);
    return type === 'integer' ? Math.trunc(edge) : edge;
  }
  if (type === 'string') {
    const text = known.length && draw(3) ? pick(known) : word(s.maxLength ?? 100);
    return s.pattern && !new RegExp(s.pattern, 'u').test(text) ? text + '/' + word(10) : text;
  }
  if (type === 'array') return Array.from({ length: draw(Math.min(s.maxItems ?? 5, 5) + 1) }, () => right(s.items, known, depth + 1));
  const out = {};
  for (const [name, inner] of Object.entries(s.properties || {}))
    if ((s.required || []).includes(name) || draw(2)) out[name] = right(inner, known, depth + 1);
  if (s.additionalProperties && typeof s.additionalProperties === 'object')
    for (let i = draw(3); i > 0; i--) out[known.length && draw(2) ? pick(known) : 'k' + word(8)] = right(s.additionalProperties, [], depth + 1);
  return out;
}

// The same with one thing wrong somewhere; whether it is wrong is for the validator to say.
function spoilt(value, schema) {
  const s = resolve(schema);
  const others = [null, true, 0, -1, 1.5, 1e300, 'x', '', [], {}, [1], { x: 1 }, 'y'.repeat(400)];
  if (value !== null && typeof value === 'object' && !Array.isArray(value) && draw(4)) {
    const out = { ...value };
    const names = Object.keys(out);
    const way = draw(3);
    if (way === 0) out['not-' + word(6)] = pick(others);
    else if (way === 1 && names.length) delete out[pick(names)];
    else if (names.length) { const name = pick(names); out[name] = spoilt(out[name], (s.properties || {})[name] || s.additionalProperties || {}); }
    return out;
  }
  if (Array.isArray(value) && draw(3)) return draw(2) ? [...value, pick(others)] : Array.from({ length: (s.maxItems ?? 100) + 1 }, () => 'n');
  if (typeof value === 'number' && draw(2)) return pick([(s.maximum ?? 1e6) + 1, (s.minimum ?? 0) - 1, value + 0.5]);
  return pick(others);
}

// As a query has it: text. A number in it is read as one.
const asText = (value) => typeof value === 'number' ? (Number.isInteger(value) && Math.abs(value) < 1e21 ? BigInt(value).toString() : String(value)) : String(value);
const readBack = (schema, text) => { const s = resolve(schema); return s.type === 'integer' || s.type === 'number' ? (/^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(text) ? Number(text) : text) : text; };

// ---- A server, and what there is to know of it.

async function suite(what, program, args) {
  const server = start(program, args);
  const url = (await server.url) + '/api/v1';
  api = parse(await (await fetch(url + '/openapi.yaml')).text());
  const id = 'api' + what;
  ajv.addSchema({ $id: id, components: api.components });
  const rooted = (schema) => JSON.parse(JSON.stringify(schema).replaceAll('"#/components', `"${id}#/components`));
  const validators = new Map();
  const valid = (schema, value) => { const key = JSON.stringify(schema); if (!validators.has(key)) validators.set(key, ajv.compile(rooted(schema))); return validators.get(key)(value); };

  async function ask(path, method, query, body) {
    const target = url + path + (query.length ? '?' + query.map(([k, v]) => encodeURIComponent(k) + '=' + encodeURIComponent(v)).join('&') : '');
    const stop = new AbortController();
    const answer = await fetch(target, { method: method.toUpperCase(), signal: stop.signal, headers: body === undefined ? {} : { 'Content-Type': 'application/json' }, body });
    const type = answer.headers.get('content-type');
    if (type.startsWith('text/event-stream')) { stop.abort(); return { status: answer.status, type: 'text/event-stream', text: '', target }; }
    return { status: answer.status, type: type.split(';')[0], text: await answer.text(), target: `${method} ${target} ${body ?? ''}`.slice(0, 600) };
  }
  function hold(operation, answer) {
    const described = operation.responses[answer.status] || operation.responses.default;
    check(described, `${answer.target}: ${answer.status} is not described`);
    const content = resolve(described).content[answer.type];
    check(content, `${answer.target}: ${answer.status} comes as ${answer.type}`);
    if (answer.type !== 'application/json') return;
    const value = JSON.parse(answer.text);
    check(valid(content.schema, value), `${answer.target}: ${ajv.errorsText(validators.get(JSON.stringify(content.schema)).errors)} in ${answer.text.slice(0, 300)}`);
  }

  await until(async () => (await (await fetch(url + '/decisions')).json()).decisions.length > 3, 'decisions', 60);
  const now = await (await fetch(url + '/state')).json();
  const list = (await (await fetch(url + '/decisions?limit=1000')).json()).decisions;
  const names = (section) => Object.keys(now[section] || {});
  const claims = Object.values(now.nodes).map((n) => n.claim).filter(Boolean);
  const known = { pod: Object.values(now.pending || {}).map((p) => p.namespace + '/' + p.pods[0]), node: names('nodes'), group: names('rows'), pool: names('rows'), claim: claims, gang: Object.values(now.queues || {}).flatMap((q) => q.gangs.map((g) => g.gang)).concat('ml/done'), at: [now.at, now.at - 600], from: [now.at - 7200], to: [now.at], id: [1, 2, 3, ...list.map((d) => d.id)], since: [now.seq], before: [4] };
  const inBodies = [...names('nodes').slice(0, 5), ...names('rows'), '1', '500m', '2Gi', 'shop/web'];
  const cases = [];
  for (const [path, item] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      cases.push([`${what}: ${method} ${path} is as it is described`, async () => {
        const parameters = operation.parameters || [];
        const body = operation.requestBody?.content['application/json'].schema;
        let refused = 0;
        for (let round = 0; round < rounds; round++) {
          const wrong = round % 2 === 1 && (parameters.length > 0 || body);
          const chosen = path === '/explain' ? [pick(parameters)] : parameters.filter((p) => p.required || draw(2));
          const query = chosen.map((p) => [p.name, asText(right(p.schema, known[p.name] || []))]);
          let sent = body && right(body, inBodies);
          let bad = false;
          if (wrong && body) {
            sent = spoilt(sent, body);
            bad = !valid(body, sent);
          } else if (wrong) {
            const which = draw(query.length + 1);
            if (which === query.length) {
              query.push(['no' + word(5), 'x']);
              bad = true;
            } else {
              query[which][1] = pick(['', 'x', '-1', '1e999', 'nan', '0x10', ' 1', '1 ', '99999999999999999999999', '1.5', '--1', word(20)]);
              const parameter = parameters.find((p) => p.name === query[which][0]);
              bad = !valid(parameter.schema, readBack(parameter.schema, query[which][1]));
            }
          }
          const answer = await ask(path, method, query, sent === undefined ? undefined : JSON.stringify(sent));
          hold(operation, answer);
          check(answer.status !== 500, answer.target);
          // As fast as it goes the model comes to its end.
          if (path === '/control' && sent?.speed === 0) await ask(path, 'post', [], '{"speed":1000}');
          if (bad) check(answer.status >= 400 && answer.status < 500, `${answer.target}: is not as the schema has it, and is answered with ${answer.status}`);
          // Form is right: whatever is wrong then is not that.
          if (!bad && answer.status === 400) check(/question is empty/.test(answer.text), `${answer.target}: is as the schema has it, and is refused: ${answer.text}`);
          if (bad) refused++;
          if (method === 'get' && !parameters.length && path !== '/pools' && path !== '/pass') check(answer.status === 200 || bad, `${answer.target}: ${answer.status}`);
        }
        check(refused > 0 || (!parameters.length && !body), 'nothing wrong was drawn');
      }]);
    }
  }
  cases.push([`${what}: bodies that are no JSON are refused`, async () => {
    for (const path of ['/control', '/whatif', '/session'])
      for (const body of ['', '\u0000', '{', '{"a":', '['.repeat(5000), '{"removeNodes":' + '['.repeat(2000), 'null', '"x"', '{"speed":1e999}'])
        for (const answer of [await ask(path, 'post', [], body)]) { hold(api.paths[path].post, answer); check(answer.status === 400 || (what === 'gangs' && path === '/control' && answer.status === 404), `${answer.target}: ${answer.status}`); } // a made-up cluster is not steered
  }]);
  if (what === 'groups') {
    cases.push(['a question is answered in the form that is described', async () => {
      const { id } = await until(async () => { const a = await (await fetch(url + '/whatif', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"addPods":{"count":20,"cpu":"1","memory":"1Gi"}}' })).json(); return a.id && a; }, 'the desk', 60);
      const done = await until(async () => { const a = await ask('/whatif', 'get', [['id', id]]); hold(api.paths['/whatif'].get, a); return JSON.parse(a.text).state !== 'running' && JSON.parse(a.text); }, 'the answer', 40);
      check(done.state === 'done' && done.answer.groups.some((g) => g.with >= g.without), JSON.stringify(done).slice(0, 300));
    }]);
  }
  await each(cases);
  await server.stop();
}

let api;
const resolve = (thing) => thing.$ref ? resolve(thing.$ref.slice(2).split('/').reduce((at, key) => at[key], api)) : thing;
const model = ['run', '--seed', '3', '--speed', '1000', '--for', '720h', '--web-address', '127.0.0.1:0'];
await suite('groups', process.argv[2], model);
await suite('pools', process.argv[2], [...model, '--node-pools']);
await suite('gangs', process.argv[3], ['--gangs']);
