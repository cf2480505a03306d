import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { inPairs } from '#base/hex-pairs'
import { createNetwork, environmentWays, type Fetch } from '#proxy/network'
import { configDirectory } from '../config/directories.ts'
import { askRunning, controlSocketPath } from '../up/control-socket.ts'
import { type Facts } from './facts.ts'
import { probePort } from './probe/console-port.ts'
import { probeDatabase } from './probe/database.ts'
import { probeHealth } from './probe/health-command.ts'
import { probeEngine } from './probe/engine.ts'
import { readKernelLimits } from './probe/kernel-limits.ts'
import { probeSessionFiles } from './probe/session-files.ts'
import { probeSlurm } from './probe/slurm.ts'
import { checkUpdates } from './probe/updates.ts'
import {
  freeBytesAbove,
  probeDataDirectory,
  probeIptables,
  probeAmd,
  probeNvidia,
  probeSecrets,
  readIpForward,
  readManagerAhead,
  readManagerWarnings,
  readSshVersion,
  resolvesLocalhostNames,
} from './probe/host.ts'

export interface CollectOptions {
  /** Absolute. */
  readonly data: string
  /** As the agent is set. `directory`: absolute. */
  readonly homes: { readonly directory: string; readonly floorBytes: number }
  /** As the agent is set. */
  readonly health: { readonly command: string | undefined; readonly timeoutSeconds: string | undefined }
  /** Absolute directories of the storages of folders. */
  readonly storages: readonly string[]
  readonly port: number
  readonly metrics: Facts['metrics']
  readonly databaseUrl: string | undefined
  readonly dockerHost?: string | undefined
  readonly toolboxImage?: string | undefined
  /** Further files that hold secrets. */
  readonly secretFiles?: readonly string[]
  /** Set if a process asks about itself; the console of this computer is then not asked. */
  readonly askedBy?: { readonly managerUrl: string | undefined } | undefined
}

/** A Berth that is stopping does not answer; waiting half a minute for it would be too long. */
const RUNNING_WITHIN_MS = 3_000

/** Collects the facts about this computer. Changes nothing, and needs no running Berth. */
export async function collectFacts(options: CollectOptions): Promise<Facts> {
  const { data, homes, storages, port, databaseUrl, dockerHost, toolboxImage, askedBy } = options
  const { running, proxyFaults, apps, certificate } = askedBy ? {} : await findRunning(data)
  const managerUrl = askedBy ? askedBy.managerUrl : running?.url
  const fetchManager = fetchPinned(certificate)
  const masterKey = process.env.BERTH_MASTER_KEY_FILE ?? join(data, 'master.key')
  const secrets = [
    join(data, 'admin-password'),
    masterKey,
    ...['key.pem', 'label.key', 'agent.json'].map(name => join(data, 'agent', name)),
    ...['own-key.pem', 'acme-account.pem', 'acme-key.pem'].map(name => join(data, 'tls', name)),
    join(configDirectory(), 'sign-in.json'),
    ...(options.secretFiles ?? []),
  ]
  const [
    dataDirectory,
    homesFreeBytes,
    health,
    engine,
    nvidia,
    amd,
    consolePort,
    database,
    secretFiles,
    managerAheadMs,
    managerWarnings,
    iptables,
    update,
    sessionFiles,
    kernelLimits,
    slurm,
  ] = await Promise.all([
    probeDataDirectory(data),
    freeBytesAbove(homes.directory),
    probeHealth(options.health.command, options.health.timeoutSeconds),
    probeEngine(dockerHost, toolboxImage),
    probeNvidia(),
    probeAmd(),
    askedBy ? { port, status: 'ours' as const } : probePort(port, running?.url),
    probeDatabase(data, databaseUrl),
    probeSecrets(secrets),
    readManagerAhead(managerUrl, fetchManager),
    readManagerWarnings(managerUrl, fetchManager),
    probeIptables(),
    checkUpdates(),
    probeSessionFiles([homes.directory, ...storages.map(path => join(path, 'folders'))]),
    readKernelLimits(),
    probeSlurm(process.env.BERTH_SLURM_COMMANDS || undefined),
  ])
  const [ipForward, localhostNamesResolve, sshVersion] = await Promise.all([
    readIpForward(),
    resolvesLocalhostNames(),
    readSshVersion(),
  ])
  return {
    platform: process.platform,
    isRoot: process.getuid?.() === 0,
    nodeVersion: process.version,
    data: dataDirectory,
    homes: { path: homes.directory, freeBytes: homesFreeBytes, floorBytes: homes.floorBytes },
    health,
    sessionFiles,
    kernelLimits,
    slurm,
    engine,
    nvidia,
    amd,
    consolePort,
    database,
    secrets: secretFiles,
    running,
    managerAheadMs,
    managerWarnings,
    proxyFaults,
    apps,
    certificate,
    metrics: options.metrics,
    now: new Date(),
    update,
    iptables,
    ipForward,
    localhostNamesResolve,
    sshVersion,
  }
}

/** The running console has said which key it has, over a socket that only its owner can open. */
function fetchPinned(certificate: Facts['certificate']): Fetch {
  if (!certificate) return fetch
  const pin = `key:${inPairs(certificate.keyFingerprint)}`
  return createNetwork({ findWays: environmentWays(process.env), pinOf: () => pin }).fetch
}

async function findRunning(
  data: string,
): Promise<Partial<Pick<Facts, 'running' | 'proxyFaults' | 'apps' | 'certificate'>>> {
  const path = controlSocketPath(data)
  // Check first: asking creates an unused sign-in ticket, which expires after ten minutes.
  const there = await access(path).then(
    () => true,
    () => false,
  )
  const found = there ? await askRunning(path, RUNNING_WITHIN_MS) : undefined
  return {
    running: found && { url: found.url, pid: found.pid },
    proxyFaults: found?.proxyFaults,
    apps: found?.apps,
    certificate: found?.certificate,
  }
}
