import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createOpenCounts } from '#base/open-counts'
import { AppError, because } from '#manager/contract'
import { version } from '../version.ts'
import { type DownloadTickets } from './download-tickets.ts'
import { type HostBundle, type HostBundles } from './host-bundle.ts'
import { hostScript } from './host-line.ts'
import { type AgentService } from './service.ts'

/** A bundle that is being sent; it takes a place until it is disposed of. */
export type SentBundle = HostBundle & Disposable

export interface HostSetup {
  /** Begins to make the bundle, so that it is ready when the line is run. */
  prepare(): void
  /**
   * The script of a line.
   * @param token of a join string
   * @throws AppError `join_token_invalid`, `unavailable`
   */
  script(token: string): Promise<string>
  /**
   * @param token of a join string, or the ticket of an agent that is updated
   * @throws AppError `join_token_invalid`, `not_found`, `rate_limited`
   */
  bundle(token: string, sha256: string): Promise<SentBundle>
}

/** Downloads of the bundle at a time: 60 MB each, and as many hosts as an administrator sets up at once. */
const MOST_DOWNLOADS = 8
/** With one token; a second try may overlap with the first one. */
const MOST_OF_TOKEN = 2

const SCRIPT = join(import.meta.dirname, '../../build/host/add-host.sh')

export interface HostSetupDeps {
  readonly agents: Pick<AgentService, 'invitation'>
  readonly bundles: Pick<HostBundles, 'get' | 'find'>
  readonly tickets: Pick<DownloadTickets, 'opens'>
}

/**
 * Gives new hosts what they install.
 *
 * Threat model: strangers can reach these routes. They get nothing without the token of a join string that is valid now (256 random
 * bits; only its hash is stored) and whose maker is a superadmin still; looking one up costs one query. The script contains the join string, which its
 * reader has already. Agents have tickets of their own, each for one archive. A download does not consume the token. The bundle has nothing secret: programs and the toolbox image. Downloads
 * are few at a time, and one that is not read is closed like any answer.
 */
export function createHostSetup({ agents, bundles, tickets }: HostSetupDeps): HostSetup {
  const downloads = createOpenCounts()

  function takePlace(token: string): () => void {
    const leaveToken = downloads.take(`token:${token}`, MOST_OF_TOKEN)
    const leaveAll = leaveToken && downloads.take('all', MOST_DOWNLOADS)
    if (leaveAll)
      return () => {
        leaveAll()
        leaveToken()
      }
    leaveToken?.()
    const limit = leaveToken ? MOST_DOWNLOADS : MOST_OF_TOKEN
    throw new AppError('rate_limited', {
      ...because('host_downloads', { limit }),
      whySaysNext: true,
      retryAfterSeconds: 10,
    })
  }

  return {
    prepare: () => void bundles.get().catch(() => undefined), // logged there
    async script(token) {
      const invitation = await agents.invitation(token)
      const [{ sha256 }, body] = await Promise.all([bundles.get(), readFile(SCRIPT, 'utf8')])
      return hostScript(invitation, { version, sha256, architecture: process.arch }, body)
    },
    async bundle(token, sha256) {
      if (!tickets.opens(token, sha256)) await agents.invitation(token)
      const bundle = bundles.find(sha256)
      const leave = takePlace(token)
      return { ...bundle, [Symbol.dispose]: leave }
    },
  }
}
