// Somebody else's page in a real browser, and what it can do to a dashboard on this machine: hostile_test.mjs COPPICE
// The page is on another site, on another port of this machine, and under a name that is made to mean this machine after it was loaded (DNS
// rebinding): it reads nothing and changes nothing.
import { browse, check, each, start, until } from './lib.mjs';
import http from 'node:http';

const server = start(process.argv[2], ['run', '--seed', '7', '--speed', '60', '--for', '72h', '--web-address', '127.0.0.1:0']);
const url = await server.url;
const port = new URL(url).port;
const page = '<!doctype html><title>free kittens</title><body></body>';
const elsewhere = http.createServer((request, answer) => { answer.setHeader('Content-Type', 'text/html'); answer.end(page); });
await new Promise((done) => elsewhere.listen(0, '127.0.0.1', done));
const theirs = elsewhere.address().port;
// Every name that the tests use means this machine: that is what rebinding makes of them.
const browser = await browse(['--host-resolver-rules=MAP * 127.0.0.1', '--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessSendPreflights']);
const attacker = async (where) => { const one = await browser.newPage(); await one.goto(where); return one; };
const control = async () => (await fetch(url + '/api/v1/control')).json();
await until(async () => Object.keys((await (await fetch(url + '/api/v1/state')).json()).nodes || {}).length > 0, 'nodes');
const secret = Object.keys((await (await fetch(url + '/api/v1/state')).json()).nodes)[0];

// All the ways of a script to get at an answer; what it has in hand afterwards, as text.
const tries = (target) => `(async () => {
  const got = {};
  const note = async (name, what) => { try { got[name] = String(await what()); } catch (problem) { got[name] = 'failed: ' + problem.message; } };
  const within = (promise, ms = 3000) => Promise.race([promise, new Promise((done) => setTimeout(() => done('nothing'), ms))]);
  await note('fetch', async () => (await fetch('${target}/api/v1/state')).text());
  await note('fetch with credentials', async () => (await fetch('${target}/api/v1/state', { credentials: 'include' })).text());
  await note('fetch without cors', async () => (await fetch('${target}/api/v1/state', { mode: 'no-cors' })).text());
  await note('request', () => within(new Promise((done) => { const r = new XMLHttpRequest(); r.open('GET', '${target}/api/v1/state'); r.onload = () => done(r.responseText); r.onerror = () => done('failed'); r.send(); })));
  await note('events', () => within(new Promise((done) => { const s = new EventSource('${target}/api/v1/events'); for (const type of ['message', 'state', 'delta', 'decision']) s.addEventListener(type, (event) => done(event.data)); s.onerror = () => done('failed'); })));
  await note('script', () => within(new Promise((done) => { const s = document.createElement('script'); s.src = '${target}/assets/store.js'; s.onload = () => done('LOADED'); s.onerror = () => done('failed'); document.body.append(s); })));
  await note('module', async () => { await import('${target}/assets/store.js'); return 'LOADED'; });
  await note('style', () => within(new Promise((done) => { const s = document.createElement('link'); s.rel = 'stylesheet'; s.href = '${target}/assets/style.css'; s.onload = () => done('LOADED'); s.onerror = () => done('failed'); document.head.append(s); })));
  await note('frame', () => within(new Promise((done) => { const f = document.createElement('iframe'); f.src = '${target}/'; f.onload = () => { try { done('frame: ' + f.contentDocument.body.innerText); } catch (problem) { done('failed: ' + problem.message); } }; document.body.append(f); })));
  await note('post as a form', async () => (await fetch('${target}/api/v1/control', { method: 'POST', mode: 'no-cors', headers: { 'Content-Type': 'text/plain' }, body: '{"paused":true}' })).status);
  await note('post as json', async () => (await fetch('${target}/api/v1/control', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"paused":true}' })).status);
  await note('post with a beacon', () => navigator.sendBeacon('${target}/api/v1/control', new Blob(['{"paused":true}'], { type: 'text/plain' })));
  return got;
})()`;

async function harmless(where, target) {
  const bad = await attacker(where);
  const got = await bad.evaluate(tries(target));
  for (const [way, text] of Object.entries(got)) {
    check(!text.includes(secret), `${where}: ${way} reads ${text.slice(0, 100)}`);
    check(!text.includes('LOADED'), `${where}: ${way} loads a file of ours`);
  }
  check(Object.keys(got).length === 12, 'not every way was tried');
  check(!/^frame: .*[Nn]odes/s.test(got.frame), `${where}: is framed`);
  // What opened a window of ours has no hold of it.
  const opened = await bad.evaluate((to) => new Promise((done) => { const w = window.open(to); setTimeout(() => { try { done(String(w && w.document.body.innerText)); } catch (problem) { done('failed: ' + problem.message); } }, 1500); }), target + '/');
  check(!opened.includes(secret) && !/Now/.test(opened), `${where}: reads an opened window: ${opened.slice(0, 100)}`);
  await bad.evaluate((to) => { const f = document.createElement('form'); f.method = 'post'; f.enctype = 'text/plain'; f.action = to; const i = document.createElement('input'); i.name = '{"paused":true,"x":"'; i.value = '"}'; f.append(i); document.body.append(f); f.submit(); }, target + '/api/v1/control');
  await bad.waitForTimeout(500);
  check((await control()).paused === false, `${where}: has paused the model`);
  await bad.close();
}

await each([
  ['a page of another site reads and changes nothing', () => harmless(`http://evil.example:${theirs}/`, url)],
  ['nor does one from another port of this machine', () => harmless(`http://127.0.0.1:${theirs}/`, url)],
  ['nor one that calls us by the other name of loopback', () => harmless(`http://localhost:${theirs}/`, `http://localhost:${port}`)],
  ['a name that was made to mean this machine is answered with a no, to the page and to its scripts', async () => {
    for (const name of ['rebound.example', 'localhost.evil.example', '127.0.0.1.evil.example', 'localhost-evil.example']) {
      const origin = `http://${name}:${port}`;
      const bad = await browser.newPage();
      const answer = await bad.goto(origin + '/');
      check(answer.status() === 403, `${origin} is answered with ${answer.status()}`);
      check(!/Now|Why/.test(await bad.content()), 'the page is there');
      // The same origin as far as the browser is concerned: nothing but the name stands between.
      const got = await bad.evaluate(async () => {
        const ask = async (path, options) => { const a = await fetch(path, options); return [a.status, await a.text()]; };
        return [await ask('/api/v1/state'), await ask('/api/v1/events'), await ask('/api/v1/control', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"paused":true}' })];
      });
      for (const [status, text] of got) check(status === 403 && !text.includes(secret), `${origin}: ${status} ${text.slice(0, 80)}`);
      check((await control()).paused === false, `${origin} has paused the model`);
      await bad.close();
    }
  }],
  ['our own page is not hindered', async () => {
    const own = await attacker(`http://localhost:${port}/`);
    await until(async () => (await own.locator('.tile').count()) > 0, 'tiles');
    // What was tried above is worth something: from here it works.
    const got = await own.evaluate(tries(''));
    for (const way of ['fetch', 'fetch with credentials', 'request']) check(got[way].includes(secret), `${way} reads ${got[way].slice(0, 100)}`);
    for (const way of ['script', 'module', 'style']) check(got[way] === 'LOADED', `${way}: ${got[way]}`);
    check(got['post as json'] === '200' && (await control()).paused === true, `it cannot be paused: ${got['post as json']}`);
    await own.close();
  }],
]);
await browser.close();
await server.stop();
elsewhere.close();
