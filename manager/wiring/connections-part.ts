import { type AppsAddress } from '#manager/contract'
import { type AuditRecorder } from '../audit/recorder.ts'
import { type Upgrades } from '../agent-link/upgrades.ts'
import { type Cluster } from '../cluster/cluster.ts'
import { createOwnApps, type OwnApps } from '../grants/own-apps.ts'
import { createPublishedApps, type PublishedApps } from '../grants/published-apps.ts'
import { createAuthenticateUpgrade } from '../http/credentials.ts'
import { clientAddress } from '../http/origin.ts'
import { strangerOf } from '../http/sender.ts'
import { type Log } from '../log.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import { type SessionMembers } from '../sessions/members.ts'
import { type Settings } from '../settings/settings.ts'
import { createSftpGateway, type SftpGateway } from '../sftp/gateway.ts'
import { onBehalfOf } from '../store/on-behalf.ts'
import { type Store } from '../store/open-store.ts'
import { createTunnelGateway, type TunnelGateway } from '../tunnels/gateway.ts'
import { createTerminalRecord } from '../tunnels/record-terminals.ts'
import { tunnelLimits } from '../tunnels/tunnel-limiter.ts'
import { createVia, mostVias } from '../tunnels/via.ts'
import { credentialOf } from '../store/identity/credential.ts'
import { isCredentialValid } from '../users/still-authorized.ts'
import { type AccountsPart } from './accounts-part.ts'
import { type FoldersPart } from './folders-part.ts'
import { type SessionsPart } from './sessions-part.ts'

export interface ConnectionsPartDeps {
  readonly store: Store
  readonly box: SecretBox
  readonly settings: Settings
  readonly cluster: Cluster
  readonly upgrades: Upgrades
  readonly accounts: AccountsPart
  readonly sessions: SessionsPart
  readonly members: SessionMembers
  readonly folders: FoldersPart
  readonly audit: AuditRecorder
  /** Address of apps for other browsers and for visitors of links; undefined: there is none. */
  readonly appsAddress: AppsAddress | undefined
  /** How many this process may open. */
  readonly descriptors: number
  readonly log: Log
}

/** Long-lived connections: tunnels to sessions, SFTP of folders, and apps at the address of apps. */
export interface ConnectionsPart extends AsyncDisposable {
  readonly published: PublishedApps
  readonly ownApps: OwnApps
  readonly tunnels: TunnelGateway
  readonly sftp: SftpGateway
}

/**
 * Opens the gateways that take over WebSockets, and ends a connection when the right to it ends.
 *
 * Threat model: a connection outlives the request that opened it, so it must end with its sign-in, keypair, link, session or membership: at
 * once when this manager learns of the end; after a gap in the messages of other managers, everything is checked again.
 */
export function startConnectionsPart(deps: ConnectionsPartDeps): ConnectionsPart {
  const { store, box, settings, cluster, upgrades, accounts, sessions, members, folders, audit, descriptors, log } =
    deps
  const { db } = store
  const { peers } = cluster
  const { passwords, logins, signers } = accounts
  const { agents, grants } = sessions
  const authenticateEntry = createAuthenticateUpgrade({ logins, signers }, 'enter')
  const authenticateFiles = createAuthenticateUpgrade({ logins, signers }, 'files')
  const isValid = (credential: string) => isCredentialValid(db, credential)

  // Each of these takes over sockets only after the start, so nothing has to be closed if creating a later one fails.
  const stack = new AsyncDisposableStack()
  const published = stack.use(
    createPublishedApps({ store, box, passwords, settings, grants, logins, address: deps.appsAddress, peers }),
  )
  const recordTerminal = createTerminalRecord({ db, audit, log })
  const tunnels = stack.use(
    createTunnelGateway({
      locate: id => sessions.locate(id),
      verifyGrant: async (grant, sessionId, app) => {
        const valid = await grants.verify(grant, sessionId, app)
        if (valid.isPublic) published.watch(valid.loginId)
        else signers.watch(valid.loginId)
        return valid
      },
      authenticateUpgrade: async request => {
        const caller = await authenticateEntry(request)
        const loginId = credentialOf(caller)
        signers.watch(loginId)
        return { ...caller, loginId }
      },
      isCredentialValid: isValid,
      recordTerminal: (terminal, request) => recordTerminal({ ...terminal, address: clientAddress(request) }),
      agents,
      limits: tunnelLimits(descriptors),
    }),
  )
  sessions.openCommandsBy((...given) => tunnels.openCommand(...given))
  sessions.joinAgentsBy((...given) => tunnels.relay(...given))
  const via = stack.use(createVia({ members: () => cluster.members(), agents, most: mostVias(descriptors) }))
  const sftp = stack.use(
    createSftpGateway({
      db,
      open: folders.open,
      quotas: folders.quotas,
      hints: folders.fileHints,
      authenticateUpgrade: async request => {
        const caller = await authenticateFiles(request)
        signers.watch(credentialOf(caller))
        return caller
      },
      isCredentialValid: isValid,
      addressOf: clientAddress,
      audit,
      log,
    }),
  )
  for (const gateway of [tunnels, via, sftp]) {
    upgrades.on(
      address => gateway.match(address),
      // Until the gateway knows whom it is for.
      (request, socket, head) => onBehalfOf(strangerOf(request), () => gateway.handle(request, socket, head)),
    )
  }

  sessions.onSessionEnded(id => tunnels.closeSession(id))
  sessions.onSessionEnded(
    id =>
      void published
        .endOfSession(id)
        .catch((error: unknown) => log.error({ err: error }, 'links to apps of an ended session were not deleted')),
  )
  const ownApps = createOwnApps({ store, box, grants, address: deps.appsAddress })
  sessions.onSessionEnded(
    () =>
      void ownApps
        .endOfSessions()
        .catch((error: unknown) => log.error({ err: error }, 'places of apps of an ended session were not deleted')),
  )
  members.onChanged(userId => {
    tunnels.checkShared(userId).catch((error: unknown) => {
      log.error({ err: error, userId }, 'tunnels to shared sessions were not checked again')
    })
  })
  sessions.watchTraffic(id => tunnels.activity(id))
  sessions.onAgentGone(id => tunnels.dropAgent(id))
  const endAll = (credential: string) => {
    grants.forgetLogin(credential)
    sftp.closeLogin(credential)
    return tunnels.closeLogin(credential)
  }
  logins.onEnd(endAll)
  signers.onEnd(endAll)
  published.onEnd(endAll)
  // A sign-in may have ended at another manager, and the message about it may have been missed.
  peers.onGap(() => {
    const tunnelled = tunnels.openedWith().filter(id => !published.isWatched(id))
    void logins.recheck([...tunnelled, ...sftp.openedWith()]).catch(() => undefined)
  })
  return { published, ownApps, tunnels, sftp, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}
