import { spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  openSync,
  closeSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { installPackages } from './apt.ts'
import { runCommand } from './command.ts'
import { engineEndpoint, getFromEngine, type EngineEndpoint } from './engine-client.ts'
import { findProgram, hasSystemd, readText, type Platform } from './platform.ts'
import { SessionsUnavailable, StepError, WITHOUT_SESSIONS, type Note } from './progress.ts'

const DAEMON_JSON = '/etc/docker/daemon.json'
const PID_FILES = ['/var/run/docker.pid', '/var/run/docker/containerd/containerd.pid']
const START_DEADLINE_MS = 60_000
const LOG_LIMIT_BYTES = 10_000_000

/** Remedy for an engine that does not answer, chosen from `error.code` of the attempt and the facts of the machine; pure. */
export type EngineRemedy =
  | { readonly act: 'install' }
  | { readonly act: 'start'; readonly by: 'systemd' | 'ourselves' }
  | { readonly act: 'explain'; readonly why: string; readonly hint: string }

export function engineRemedy(facts: {
  readonly errorCode: string | undefined
  readonly dockerHost: string | undefined
  readonly platform: Platform
  readonly dockerd: boolean
  readonly systemd: boolean
}): EngineRemedy {
  const { errorCode, dockerHost, platform, dockerd, systemd } = facts
  if (dockerHost !== undefined && dockerHost !== '') {
    return {
      act: 'explain',
      why: `DOCKER_HOST is ${dockerHost}, and nothing answers there`,
      hint: `Start that engine, or unset DOCKER_HOST. Berth reaches engines by unix:// and tcp://. ${WITHOUT_SESSIONS}`,
    }
  }
  if (errorCode === 'EACCES' || errorCode === 'EPERM') {
    return {
      act: 'explain',
      why: 'Docker Engine runs, but this user may not use it',
      hint: `sudo usermod -aG docker $USER, then sign in again. ${WITHOUT_SESSIONS}`,
    }
  }
  if (errorCode === 'ETIMEDOUT') {
    return {
      act: 'explain',
      why: 'Docker Engine does not answer',
      hint: `It may be starting or stuck: look at its log. ${WITHOUT_SESSIONS}`,
    }
  }
  if (dockerd && platform.root) return { act: 'start', by: systemd ? 'systemd' : 'ourselves' }
  if (dockerd)
    return {
      act: 'explain',
      why: 'Docker Engine is not running',
      hint: `sudo systemctl start docker. ${WITHOUT_SESSIONS}`,
    }
  if (platform.debianLike && platform.root) return { act: 'install' }
  return {
    act: 'explain',
    why: 'Docker Engine is not installed',
    hint: platform.debianLike
      ? `sudo apt-get install docker.io && sudo usermod -aG docker $USER, then sign in again; or run npm start as root. ${WITHOUT_SESSIONS}`
      : `Install it as https://docs.docker.com/engine/install/ says for ${platform.name}. ${WITHOUT_SESSIONS}`,
  }
}

export interface EngineDeps {
  readonly platform: Platform
  /** Directory for the log of an engine that we start ourselves. */
  readonly dataDir: string
  readonly note: Note
  readonly signal: AbortSignal
}

/**
 * Ensures that a Docker Engine answers, and returns how to reach it. An existing engine is used as it is, never configured. An
 * engine that we start without a service manager gets a session of its own, so that Ctrl-C in our terminal does not end it.
 *
 * @throws SessionsUnavailable if only the user can provide one
 */
export async function ensureEngine(deps: EngineDeps): Promise<{ engine: EngineEndpoint; result: string }> {
  const { platform, note, signal } = deps
  let result = 'already there'
  for (;;) {
    const engine = engineEndpoint(process.env)
    let errorCode: string | undefined
    try {
      if (engine !== undefined) return { engine, result: `${await version(engine)}, ${result}` }
    } catch (error) {
      errorCode = (error as NodeJS.ErrnoException).code
    }
    signal.throwIfAborted()
    const remedy = engineRemedy({
      errorCode,
      dockerHost: process.env.DOCKER_HOST,
      platform,
      dockerd: findProgram('dockerd') !== undefined,
      systemd: hasSystemd(),
    })
    // Each remedy is tried once: if an installed and started engine still does not answer, a person must look at it.
    switch (remedy.act) {
      case 'explain':
        throw new SessionsUnavailable(remedy.why, remedy.hint)
      case 'install':
        if (result !== 'already there') throw new StepError('Docker Engine was installed, but is not to be found')
        note('installing docker.io and iptables with apt-get')
        configureNewEngine()
        await installPackages(['docker.io', 'iptables', 'ca-certificates'], note, signal)
        result = 'installed'
        break
      case 'start':
        if (result.endsWith('started'))
          throw new SessionsUnavailable('Docker Engine was started, but does not answer', 'Look at its log.')
        if (remedy.by === 'systemd') await runCommand('systemctl', ['start', 'docker'], { note, signal })
        else await startOurselves(deps)
        result = result === 'installed' ? 'installed and started' : 'started'
        break
    }
  }
}

async function version(engine: EngineEndpoint): Promise<string> {
  const { Version } = (await getFromEngine(engine, '/version')) as { Version?: string }
  return Version ?? 'unknown version'
}

/** Configures an engine that we install (never another one): its containers must outlive a restart of the engine. */
function configureNewEngine(): void {
  if (existsSync(DAEMON_JSON)) return
  mkdirSync('/etc/docker', { recursive: true, mode: 0o755 })
  writeFileSync(DAEMON_JSON, '{\n  "live-restore": true\n}\n', { mode: 0o644 })
}

async function startOurselves({ dataDir, note, signal }: EngineDeps): Promise<void> {
  const program = findProgram('dockerd') ?? 'dockerd'
  const logFile = join(dataDir, 'logs', 'dockerd.log')
  mkdirSync(join(dataDir, 'logs'), { recursive: true, mode: 0o711 })
  PID_FILES.forEach(removeStalePidFile)
  note(`starting ${program}, log in ${logFile}`)
  if ((statSync(logFile, { throwIfNoEntry: false })?.size ?? 0) > LOG_LIMIT_BYTES) renameSync(logFile, `${logFile}.1`)
  const log = openSync(logFile, 'a', 0o640)
  const child = spawn(program, [], { cwd: '/', detached: true, stdio: ['ignore', log, log] })
  closeSync(log)
  let ended: string | undefined
  child.on('error', error => (ended = error.message))
  child.on('exit', code => (ended = `it ended with ${String(code)}`))
  child.unref()
  const deadline = Date.now() + START_DEADLINE_MS
  for (;;) {
    const engine = engineEndpoint(process.env)
    try {
      if (engine !== undefined) await getFromEngine(engine, '/_ping')
      return
    } catch {
      // Not up yet.
    }
    if (ended !== undefined || Date.now() > deadline) {
      const tail = readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-10).join('\n')
      throw new SessionsUnavailable(
        `Docker Engine did not start: ${ended ?? 'no answer within a minute'}`,
        `The end of ${logFile}:\n${tail}`,
      )
    }
    signal.throwIfAborted()
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

/** dockerd refuses to start while its pid file names an existing process, even a zombie or another program. */
function removeStalePidFile(path: string): void {
  const pid = Number(readText(path)?.trim())
  if (!Number.isInteger(pid) || pid <= 0) return
  const status = readText(`/proc/${String(pid)}/status`)
  if (!isLiveEngine(status)) rmSync(path, { force: true })
}

/** @param status text of /proc/PID/status; undefined if there is no such process */
export function isLiveEngine(status: string | undefined): boolean {
  if (status === undefined) return false
  return /^Name:\s+(dockerd|containerd)$/m.test(status) && !/^State:\s+Z/m.test(status)
}
