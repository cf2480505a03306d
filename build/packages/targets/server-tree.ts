import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../bootstrap/image-recipes.ts'

export const UNITS = ['berth.service', 'berth-manager.service', 'berth-agent.service'] as const

/** Starts the program with its own Node, wherever its folder is and through any link. */
const LAUNCHER = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/node_modules/.bin/node" --disable-warning=ExperimentalWarning "$here/bin/berth" "$@"
`

/** Copies the runtime and adds its launcher. */
export function addLauncher(runtime: string, folder: string): void {
  cpSync(runtime, folder, { recursive: true, verbatimSymlinks: true })
  writeLauncher(folder)
}

/** Adds the file `berth` to a folder with the program and its runtime. */
export function writeLauncher(folder: string): void {
  const launcher = join(folder, 'berth')
  writeFileSync(launcher, LAUNCHER)
  chmodSync(launcher, 0o755)
}

/** The service files of the clone, adapted to another path of the program. */
export function writeUnits(folder: string, program: string): void {
  mkdirSync(folder, { recursive: true })
  for (const name of UNITS) writeFileSync(join(folder, name), unitFor(name, program))
}

/** A unit without the comment at its top, which is about a clone. */
export function unitFor(name: (typeof UNITS)[number], program: string): string {
  const text = readFileSync(join(ROOT, 'docs', 'admin', 'systemd', name), 'utf8')
  const unit = text.slice(text.indexOf('[Unit]')).replaceAll('/opt/berth/bin/berth', program)
  if (unit.replaceAll(program, '').includes('/opt/berth')) throw new Error('the service file names a path of a clone')
  return unit
}
