import { spawnSync } from 'node:child_process'
import { ROOT } from './image-recipes.ts'

/** Lints the named files. `npm run lint` lints all files, and also checks rules between files. */
const files = process.argv.slice(2)
const steps = [
  ['oxlint'],
  ['eslint', '--no-warn-ignored'],
  ['oxfmt', '--check', '--no-error-on-unmatched-pattern'],
  [process.execPath, 'build/checks/check-comments.ts'],
]
for (const step of steps) {
  const [command = '', ...flags] = step
  const { status } = spawnSync(command, [...flags, ...files], { cwd: ROOT, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
