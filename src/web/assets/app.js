// The frame around the pages: which one is shown, the bar, light and dark, signing in.
import { ask, byId, h, placeOf, Problem, say, setText, tips, when } from './dom.js';
import { Store } from './store.js';
import { nowPage } from './now.js';
import { whyPage } from './why.js';
import { whatIfPage } from './whatif.js';
import { healthPage } from './health.js';

const store = new Store();
const pages = { now: nowPage, why: whyPage, 'what-if': whatIfPage, health: healthPage };
const titles = { now: 'Now', why: 'Why', 'what-if': 'What if', health: 'Health' };
let leave = null;

function route() {
  const { page, rest, query } = placeOf(location.hash);
  const name = Object.hasOwn(pages, page) ? page : 'now';
  if (leave) leave();
  for (const link of document.querySelectorAll('nav a')) {
    if (link.getAttribute('href') === '#/' + name) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const main = byId('main');
  main.replaceChildren();
  byId('tip').hidden = true;
  document.title = titles[name] + ' \u00b7 Coppice';
  leave = pages[name](main, store, rest, query) || null;
}

function wearTheme() {
  const chosen = localStorage.getItem('coppice-theme');
  const dark = chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
}

function showLink(state) {
  const live = byId('live');
  live.dataset.state = store.past ? 'past' : state;
  setText(byId('live-text'), store.past ? 'in the past' : state === 'on' ? (store.control.paused ? 'paused' : 'live') : 'connecting');
}

const speeds = [1, 10, 60, 240, 1000];
let unbounded = false;
function showControl() {
  const { mode, paused, speed } = store.control;
  byId('model').hidden = mode !== 'model';
  setText(byId('pause'), paused ? 'Go on' : 'Pause');
  const select = byId('speed');
  // As fast as it goes is offered to who began so: it is too fast to be watched.
  unbounded = unbounded || speed === 0;
  const all = [...new Set([...speeds, speed].filter((x) => x > 0))].sort((a, b) => a - b);
  if (unbounded) all.push(0);
  select.replaceChildren(...all.map((x) => h('option', { value: x, selected: x === speed }, x ? x + '\u00d7' : 'as fast as it goes')));
  showLink(byId('live').dataset.state === 'off' ? 'off' : 'on');
}

// A replica that does not lead sees nothing and decides nothing: whoever looks at it is told where to look.
function showBanner() {
  const { leads, leader } = store.control;
  byId('banner').hidden = leads !== false;
  if (leads === false) setText(byId('banner'), 'This replica stands by: ' + (leader ? leader + ' leads. Look there; here is nothing to be seen.' : 'nobody leads yet, as far as it knows.'));
}

async function steer(change) {
  try {
    store.control = await ask('control', change);
    showControl();
    say(store.control.paused ? 'The model stands still' : 'The model goes on');
  } catch (problem) { say(problem.message); }
}

function signIn() {
  const token = h('input', { class: 'field', id: 'token', type: 'password', autocomplete: 'current-password', required: true });
  const wrong = h('p', { class: 'red small', role: 'alert' });
  byId('main').replaceChildren(h('form', {
    class: 'card alone', onsubmit: async (event) => {
      event.preventDefault();
      try { await ask('session', { token: token.value }); location.reload(); } catch (problem) { setText(wrong, problem.message); }
    },
  }, h('h1', {}, 'Who is there?'), h('p', { class: 'lead' }, 'This server is not on loopback, so it asks for the token that its operator keeps in a file.'),
  h('label', { class: 'small soft', for: 'token' }, 'Token'), h('div', { class: 'ask' }, token, h('button', { class: 'main-button' }, 'Sign in')), wrong));
  token.focus();
}

wearTheme();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', wearTheme);
byId('theme').addEventListener('click', () => {
  localStorage.setItem('coppice-theme', document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
  wearTheme();
});
byId('pause').addEventListener('click', () => steer({ paused: !store.control.paused }));
byId('speed').addEventListener('change', (event) => steer({ speed: Number(event.target.value) }));
store.addEventListener('control', showControl);
store.addEventListener('control', showBanner);
// Long enough that whoever goes through tabs does not make each of them start anew.
const hiddenFor = 10_000;
let hidden = 0;
function restIfHidden() {
  clearTimeout(hidden);
  if (document.hidden) hidden = setTimeout(() => store.rest(), hiddenFor);
  else store.wake();
}
document.addEventListener('visibilitychange', restIfHidden);
// Who leads may change, and nobody is told.
setInterval(async () => {
  if (store.control.mode !== 'cluster' || store.control.leads === undefined || document.hidden) return;
  try { store.control = await ask('control'); showBanner(); } catch { /* shown by the light in the bar */ }
}, 5000);
store.addEventListener('link', (event) => showLink(event.detail));
store.addEventListener('whole', () => showLink('on'));
setInterval(() => { if (store.shown.at) setText(byId('clock'), when(store.now())); }, 250);
tips(byId('main'));

async function begin() {
  try {
    await store.start();
  } catch (problem) {
    if (problem instanceof Problem && problem.status === 401) { signIn(); return; }
    showLink('off');
    setTimeout(begin, 2000);
    return;
  }
  restIfHidden(); // it may have been opened behind another
  addEventListener('hashchange', route);
  route();
}
begin();
