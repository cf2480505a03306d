import { defineWords } from '../i18n.ts'

const en = {
  overview: 'Overview',
  now: 'Now',
  nowText:
    '{connected, plural, one {# agent} other {# agents}} connected, {lost} not · {running, plural, one {# session runs} other {# sessions run}}, {pending, plural, one {# waits} other {# wait}}',
  use: 'Held by sessions',
  day: 'Day',
  week: 'Week',
  month: 'Month',
  asTable: 'Show as table',
  asChart: 'Show as chart',
  gpus: 'GPUs',
  cores: 'CPU cores',
  held: 'Held',
  capacity: 'Capacity',
  waiting: '{count, plural, =0 {Nobody waits} one {# session waits} other {# sessions wait}}',
  toQueue: 'Queue',
  nobodyWaits: 'Every session has started.',
  needy: 'Agents that need a hand',
  agentsFine: 'All agents are well.',
  moreAgents: '{count, plural, one {# more agent} other {# more agents}}',
  failures: '{count, plural, =0 {Nothing failed in seven days} other {# failed in seven days}}',
  moreReasons: '{count, plural, one {# more reason} other {# more reasons}}',
  waste: 'GPUs that do nothing',
  wasteText: '{gpus} GPU, {hours} GPU-hours so far',
  wasteHours: '{hours} GPU-hours',
  noWaste: 'No GPU has done nothing for {minutes} minutes.',
  toUsage: 'Usage',
  moreOwners: '{count, plural, one {# more owner} other {# more owners}}',
  toFailed: 'Failed',
  noFailures: 'No session failed.',
  paused: 'No session starts',
  pausedByAdmin: 'An administrator paused the start of sessions: {time}. Running sessions continue.',
  pausedRestored:
    'Berth was restored from a backup: {time}. Sessions start once an administrator has checked that all agents are here.',
  asking: '{count, plural, one {# person asks for an account.} other {# people ask for an account.}}',
  toAsking: 'Accept or decline',
  resume: 'Start sessions again',
  resumed: 'Sessions start again.',

  // Missing parts of a fresh installation
  missing: 'Still missing',
  setUp: 'Set up',
  setUpOf: 'Set up: {what}',
  check_agent: 'An agent',
  checkText_agent: 'Without one, no session can start.',
  check_secondAdmin: 'A second superadmin',
  checkText_secondAdmin: 'If the only one cannot sign in, nobody else can help.',
  check_https: 'An address with https',
  checkText_https: 'Links in mails lead to the public address of the console.',
  check_certificate: 'A certificate that lasts',
  checkText_certificate:
    'The TLS certificate of a console ends within two weeks, has ended, or could not be renewed. berth admin tls says which, and why.',
  check_apps: 'An address for web apps',
  checkText_apps:
    'Browsers on other computers cannot open JupyterLab without one. Set console.appsAddress in berth.toml, see docs/admin/published-apps.md.',
  check_appsAnswer: 'An address for web apps that answers',
  checkText_appsAnswer: 'Berth called its address for web apps and did not find itself. berth doctor says why.',
  check_mail: 'A mail server',
  checkText_mail: 'Without one, links for new passwords are passed on by hand.',
  check_backup: 'Backups',
  checkText_backup: 'No backup is made by itself. A lost disk would lose all accounts and records.',
  check_backupFailed: 'A backup that works',
  checkText_backupFailed: 'The last backup failed.',
  check_gpu: 'A GPU',
  checkText_gpu:
    'No connected agent reports one. If there is a GPU, look at its driver and the NVIDIA Container Toolkit.',
} as const

export default en
export const t = defineWords('admin-overview', en)
