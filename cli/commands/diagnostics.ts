import { open, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Command } from 'commander'
import { AppError, type Diagnosis, isAppError } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { fetchByEnvironment } from '#proxy/network'
import { EXIT } from '../exit-codes.ts'
import { createOutput } from '../output.ts'
import { adminOf } from './admin.ts'
import { failureOf } from './failure-of.ts'

interface Flags {
  out?: string
  addresses?: boolean
  json?: boolean
}

interface Result {
  readonly name: string
  readonly diagnosis?: Diagnosis
  /** Reason why there is no diagnosis. */
  readonly failed?: string
}

/** `berth admin diagnostics`, for superadmins. */
export function addDiagnosticsCommand(program: Command): void {
  adminOf(program)
    .command('diagnostics')
    .description('Run `berth doctor` for every manager and on the host of every agent, or write a bundle for a helper.')
    .option('--out <file>', 'write a .tar.gz with results, versions, settings and log lines; secrets are blanked')
    .option('--addresses', 'with --out: keep e-mail addresses')
    .option('--json', 'print JSON')
    .action(async ({ out, addresses = false, json = false }: Flags) => {
      const { api, endpoint, credentials } = await connect()
      if (out !== undefined) {
        const url = `${endpoint}/api/v1/diagnostics/bundle?addresses=${addresses ? 'keep' : 'blank'}`
        const reply = await fetchByEnvironment(url, { headers: await credentials({ method: 'GET', url }) })
        if (!reply.ok || !reply.body) throw await failureOf(reply)
        await saveNew(out, reply.body)
        return
      }
      const [{ items: managers }, { items: joined }] = await Promise.all([api.listManagers(), api.listAgents()])
      const agents = joined.filter(({ status }) => status !== 'REVOKED')
      const results = await Promise.all([
        ...managers.map(({ id, url }) => resultOf(`manager ${url}`, api.diagnoseManager({ params: { id } }))),
        ...agents.map(({ id, name }) => resultOf(`agent ${name}`, api.diagnoseAgent({ params: { id } }))),
      ])
      const { describeDiagnosis } = await import('../doctor/doctor.ts')
      createOutput(json).data(results, () =>
        results
          .map(({ name, diagnosis, failed }) => `${name}\n${diagnosis ? describeDiagnosis(diagnosis) : failed}`)
          .join('\n\n'),
      )
      if (results.some(({ diagnosis }) => diagnosis?.level !== 'ok' && diagnosis?.level !== 'warning'))
        process.exitCode = EXIT.failed
    })
}

/** Writes a new file, or none if the answer is cut off. @throws AppError `bad_request` for a file that cannot be made */
async function saveNew(path: string, body: NonNullable<Response['body']>): Promise<void> {
  const file = await open(path, 'wx', 0o600).catch((error: unknown) => {
    throw new AppError('bad_request', { why: `${path} cannot be made, or exists already.` }, { cause: error })
  })
  try {
    await pipeline(Readable.fromWeb(body), file.createWriteStream())
  } catch (error) {
    await rm(path, { force: true })
    throw error
  }
}

/** A manager or agent that is away or does not answer leaves the others alone. */
async function resultOf(name: string, asked: Promise<Diagnosis>): Promise<Result> {
  try {
    return { name, diagnosis: await asked }
  } catch (error) {
    if (isAppError(error)) return { name, failed: error.message }
    throw error
  }
}
