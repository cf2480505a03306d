// `npm start`: from a bare clone to a running console. This file and what it imports run on the Node that the machine has.
import { launch } from './launch.mjs'

if (process.argv.slice(2).some(flag => flag === '--help' || flag === '-h')) {
  process.stdout.write(`npm start [-- flags]    everything on this machine: database, manager, agent, proxy and console

  Installs what is missing first: npm packages and, as root on Debian or Ubuntu, Docker Engine; builds the toolbox, one
  session image, the console and, on a computer with a screen, the desktop app (without Electron, a window of
  Chrome, Edge or Chromium shows the console). Each step is skipped when it is done already, and can be interrupted and repeated.

  --data DIR     where Berth keeps its data (default: $BERTH_DATA, /var/lib/berth as root, else the XDG data directory)
  --port N       port of the console; 0 picks a free one
  --no-open      do not open the console
  --browser      open the console in the usual browser instead of a window of its own
  --json         one line of JSON on standard output when the console answers; progress goes to standard error
  --no-docker    the console without sessions: Docker Engine is neither looked for nor installed
  --help         this text

  Ctrl-C stops what was started; sessions keep running. Other flags of \`berth up\` are passed on.
`)
} else {
  await launch('start.ts')
}
