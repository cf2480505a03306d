// `npm run desktop`: the desktop app alone, from a clone. This file and what it imports run on the Node that the machine has.
import { launch } from './launch.mjs'

if (process.argv.slice(2).some(flag => flag === '--help' || flag === '-h')) {
  process.stdout.write(`npm run desktop [-- arguments]    the desktop app; it asks which Berth to connect to

  Installs npm packages, builds the console and the app, and fetches Electron, each unless it is there already.

  --profile=NAME   settings, sign-in and tunnels of their own, for several servers at once
  --help           this text
`)
} else {
  await launch('desktop.ts')
}
