import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { answersTarget } from './answers.ts'
import { apiTarget } from './api.ts'
import { fromAgentTarget } from './from-agent.ts'
import { fromManagerTarget } from './from-manager.ts'
import { hostTarget } from './host.ts'
import { sftpTarget } from './sftp.ts'
import { Random } from './random.ts'
import { type FuzzTarget } from './target.ts'
import { tunnelTarget } from './tunnel.ts'

/**
 * `npm run fuzz -- [--seed N] [--inputs N] [--seconds N] [--target NAME]… [--first N]`
 *
 * Feeds random inputs to the tunnel protocol, to SFTP, to the host API of the console, to the API of a manager and to both ends of the
 * agents' control protocol. Fails (exit 1) on a process that ended, an undocumented 5xx, an answer slower than 5 s, memory or
 * descriptors that grow, and an error in the log of a manager or an agent. Input number I of a target follows from the seed and
 * I alone: `--seed S --target T --first I --inputs 1` repeats it.
 */
const TARGETS: readonly FuzzTarget[] = [
  fromManagerTarget,
  fromAgentTarget,
  apiTarget,
  hostTarget,
  tunnelTarget,
  answersTarget,
  sftpTarget,
]
const BETWEEN_CHECKS = 5_000
const MOST_FAILURES = 20

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    inputs: { type: 'string', default: '100000' },
    seconds: { type: 'string' },
    first: { type: 'string', default: '0' },
    target: { type: 'string', multiple: true },
  },
})
const seed = values.seed ?? String(randomInt(2 ** 31))
const chosen = TARGETS.filter(({ name }) => values.target?.includes(name) ?? true)
if (chosen.length === 0) {
  console.error(`No such target. There are: ${TARGETS.map(({ name }) => name).join(', ')}.`)
  process.exit(2)
}
/** Time for all targets, shared equally. Time that a target does not need goes to the later ones. */
let leftMs = values.seconds === undefined ? Infinity : Number(values.seconds) * 1000
const weights = chosen.reduce((sum, { weight }) => sum + weight, 0)
const failures: string[] = []
process.on('uncaughtException', error => failures.push(`uncaught: ${error.stack ?? String(error)}`))

/** @returns number of inputs for which there was time */
async function fuzz({ name, start, atOnce, weight }: FuzzTarget, shareMs: number): Promise<number> {
  await using run = await start()
  const begun = performance.now()
  const until = begun + shareMs
  const first = Number(values.first)
  const last = first + Math.max(1, Math.round((Number(values.inputs) * weight) / weights))
  let next = first

  async function worker(end: number) {
    while (next < end && failures.length < MOST_FAILURES && performance.now() < until) {
      const index = next++
      try {
        await run.input(new Random(seed, name, index))
      } catch (error) {
        failures.push(
          `--seed ${seed} --target ${name} --first ${index} --inputs 1: ${error instanceof Error ? error.message : String(error)}`,
        )
      }
    }
  }

  while (next < last && failures.length < MOST_FAILURES && performance.now() < until) {
    const end = Math.min(last, next + BETWEEN_CHECKS)
    await Promise.all(Array.from({ length: atOnce }, () => worker(end)))
    await run.check().catch((error: unknown) => failures.push(`${name}, before input ${next}: ${String(error)}`))
  }
  leftMs -= performance.now() - begun
  return next - first
}

console.log(`seed ${seed}`)
for (const [index, target] of chosen.entries()) {
  const begun = performance.now()
  const count = await fuzz(target, leftMs / (chosen.length - index))
  console.log(`${target.name}: ${count} inputs in ${((performance.now() - begun) / 1000).toFixed(1)} s`)
}
for (const failure of failures.slice(0, MOST_FAILURES)) console.error(failure)
console.log(failures.length === 0 ? 'no failure' : `${failures.length} failures`)
process.exit(failures.length === 0 ? 0 : 1)
