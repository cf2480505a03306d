import { defineWords } from '../i18n.ts'

const en = {
  agents: 'Agents',
  name: 'Name',
  group: 'Resource group',
  problems: 'Problems',
  lastSeen: 'Last seen',
  version: 'Version',
  connected: 'Connected',
  paused: 'In maintenance',
  lost: 'Not connected',
  forgotten: 'Forgotten',
  none: 'No agent has joined yet',
  noneText: 'An agent runs the sessions of a host, a computer with Docker. Add one with a single line.',
  join: 'Add a host',
  pause: 'Start no new sessions',
  pauseOf: 'Start no new sessions on {name}',
  resume: 'Start sessions again',
  resumeOf: 'Start sessions on {name} again',
  pausedNow: 'No new session starts on {name}. Running sessions continue.',
  resumed: '{name} starts sessions again.',

  // Problems
  lostWhy:
    'Berth has no connection to it. Check that the computer is on and that the agent runs. If Berth got another certificate, or was restored without its key, the agent may still expect the old one: then join the computer again.',
  partlyIsolated: 'Sessions are isolated only partly: {why}',
  deviceProblem: '{model}: {problem}',
  strandedLost: 'Stranded: the agent is not connected.',
  strandedPaused: 'Stranded: no new session starts on this agent.',
  strandedShares: 'The rest can be given only to sessions that ask for a share of a GPU.',

  // Joining
  joinTitle: 'Add a host',
  joinText:
    'Run this line in a terminal of a computer with Debian or Ubuntu. It asks for the password of sudo, installs Docker if it is missing, fetches the agent from this Berth, and starts it as a service.',
  joinLine: 'Line for the host',
  joinUntil: 'The host must reach {url}. The line adds one host, until {time}: show it to nobody else.',
  joinHere:
    '{url} is an address of the computer of Berth itself, so the line works only there. To add other computers, give Berth an address that they reach (manager.advertiseUrl), with TLS.',
  joinOtherWay: 'Berth is installed there already',
  joinOtherText:
    'Where the package berth-server or a clone is installed, this command starts the agent. Docker and the toolbox image must be there.',
  joinCommand: 'Command',
  joinWaiting: 'Waiting for the host…',
  joined: '{name} has joined.',
  joinOpen: '{count, plural, one {# other open line} other {# other open lines}}',
  joinOpenBy: 'by {maker}, until {time}',
  joinOpenEnded: 'by {maker}, who may not add hosts any more',
  joinOpenOwn: 'for the host of Berth itself, until {time}',
  joinWithdraw: 'Withdraw',
  joinWithdrawOf: 'Withdraw the line by {maker}',
  joinWithdrawn: 'The line was withdrawn. No host joins with it.',
  showAgent: 'Show the agent',

  // Page of an agent
  drain: 'Drain',
  drained: 'Nothing runs on it any more. It can be switched off.',
  draining: '{count, plural, one {# session still runs.} other {# sessions still run.}} No new one starts.',
  drainProgress: 'Drained',
  tellOwners: 'Tell the owners',
  drainMessage:
    'The host {name} will be switched off for maintenance. Please save your work and end your sessions on it.',
  move: 'Move',
  moveOf: 'Move {name}',
  moveTitle: 'Move {name} to another resource group',
  moveText:
    'Waiting sessions of the chosen group may then start on it; sessions of {group} no longer do. Drain it first: no session may be on it.',
  moveWhere: 'Choose a resource group.',
  moveNowhere: 'There is no other resource group.',
  moved: '{name} is in {group} now.',
  forget: 'Forget',
  forgetTitle: 'Forget {name}?',
  forgetText:
    'Its key is revoked, and it cannot come back without joining again. {count, plural, =0 {No session runs on it.} one {# session on it ends.} other {# sessions on it end.}}',
  forgottenNow: '{name} is forgotten.',
  capacity: 'Held and capacity',
  about: 'About',
  engine: 'Docker Engine',
  isolation: 'Isolation of sessions',
  isolationFull: 'Full',
  isolationPartial: 'Partial',
  managers: 'Managers',
  id: 'Id',
  gpus: 'GPUs',
  sessions: '{count, plural, one {# session} other {# sessions}} on it',
  noSessions: 'No session runs on it.',
  images: '{count, plural, one {# image} other {# images}} on it',
  noImages: 'It holds no image.',

  // GPUs
  noDevices: 'It has no GPU that Berth can give out.',
  deviceBroken: 'Broken',
  inUse: 'In use',
  free: 'Free',
  utilization: 'Utilisation',
  memory: 'Memory',
  mode: 'Given out',
  mode_whole: 'Whole',
  mode_shared: 'In shares',
  mode_mig: 'MIG instances',
  modeSet: '{model}: changed.',
  share: 'Share {amount}',
  whole: 'Whole GPU',
  isolation_whole: 'The whole GPU belongs to one session.',
  isolation_mig: 'The hardware keeps the parts apart.',
  isolation_enforced: 'Memory limits of shares are enforced.',
  isolation_guarded: 'Sessions that use more memory than their share are ended.',
  isolation_accounted: 'Memory limits of shares are not enforced.',

  // Containers without a record
  unknown: 'Containers without a record',
  unknownText:
    'These containers name this Berth, but it has no record of them. Import them as sessions, or remove them.',
  import: 'Import',
  imported: '{name} is a session again.',
  removeContainer: 'Remove',
  removeContainerTitle: 'Remove the container of {name}?',
  removeContainerText: 'It stops, and files that are only in it are lost.',
  removedContainer: 'The container of {name} is removed.',
} as const

export default en
export const t = defineWords('admin-agents', en)
