import { answerParent, onParentGone } from '#base/parent-channel'
import { toWireError } from '#manager/contract'
import { startAgent } from './agent.ts'
import { readConfig } from './config.ts'
import { leaveEngine } from './leaving/leave-engine.ts'

export { startAgent } from './agent.ts'
export { readConfig } from './config.ts'

/**
 * The agent process: runs session containers on one Docker Engine. Configured by environment variables (see README.md). When a
 * manager has accepted it, it prints one line, `{"ready":"agent","agentId":"…"}`; logs go to standard error. If a start cannot
 * succeed, or the agent ends for a reason that a restart would not fix (revoked, engine taken), it prints `{"error":{…}}` and
 * exits with 1. SIGINT, SIGTERM, and the end of the parent's IPC channel stop it cleanly; sessions keep running.
 */
async function main(): Promise<void> {
  const stopped = Promise.withResolvers<undefined>()
  const stop = () => stopped.resolve(undefined)
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  onParentGone(process, stop)
  // A hanging engine must not keep the process alive; unfinished work is found again from the containers' labels.
  void stopped.promise.then(() => setTimeout(() => process.exit(0), STOP_TIMEOUT_MS).unref())
  const config = readConfig(process.env)
  if (config.leave) {
    await leaveEngine(config, line => process.stderr.write(`${line}\n`))
    return
  }
  const starting = startAgent(config)
  const agent = await Promise.race([starting, stopped.promise])
  if (!agent) return process.exit(0)
  await using _closed = agent
  if (process.channel) {
    process.on('message', message => {
      const { id, type } = (message ?? {}) as { id?: unknown; type?: unknown }
      if (type !== 'get_isolation') return
      agent.isolation().then(
        value => answerParent(process, { id, ok: true, value }),
        (error: unknown) => answerParent(process, { id, ok: false, error: toWireError(error) }),
      )
    })
  }
  process.stdout.write(`${JSON.stringify({ ready: 'agent', agentId: agent.agentId })}\n`)
  await Promise.race([stopped.promise, agent.ended])
}

/** Time limit of a clean stop; shorter than the time after which `berth up` kills its children. */
const STOP_TIMEOUT_MS = 8_000

if (import.meta.main) {
  try {
    await main()
    process.exit(0)
  } catch (error) {
    process.stdout.write(`${JSON.stringify({ error: toWireError(error) })}\n`)
    if (toWireError(error).code === 'internal')
      process.stderr.write(`${String(error instanceof Error ? error.stack : error)}\n`)
    process.exit(1)
  }
}
