import { parseArgs } from 'node:util'
import { benchLaunch } from './launch.ts'
import { benchMemory } from './memory.ts'
import { benchTunnel } from './tunnel.ts'

/**
 * `npm run bench -- [--json] [tunnel] [launch] [memory]`: figures of the whole path on this machine, next to their yardstick
 * in the same run. Machines differ and are noisy: read the ratios.
 */
const PARTS = { tunnel: benchTunnel, launch: benchLaunch, memory: benchMemory }
type Part = keyof typeof PARTS
const isPart = (name: string): name is Part => Object.hasOwn(PARTS, name)

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false } },
})
const unknown = positionals.filter(name => !isPart(name))
if (unknown.length > 0) {
  console.error(`No such part: ${unknown.join(', ')}. There are: ${Object.keys(PARTS).join(', ')}.`)
  process.exit(2)
}
const chosen = positionals.length > 0 ? positionals.filter(isPart) : (Object.keys(PARTS) as Part[])

const figures: Record<string, Record<string, unknown>> = {}
for (const name of chosen) {
  console.error(`${name} …`)
  for (const [group, values_] of Object.entries(await PARTS[name]())) figures[group] = { ...figures[group], ...values_ }
}
console.log(values.json ? JSON.stringify(figures) : JSON.stringify(figures, null, 2))
process.exit(0)
