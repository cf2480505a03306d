import { spawn } from 'node:child_process'
import { readdir, rm } from 'node:fs/promises'
import { constants, setPriority } from 'node:os'
import { extname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import { parseJson } from '#base/parse-json'
import { AppError, because } from '#manager/contract'
import { type Log } from '../log.ts'

const Made = z.object({
  file: z.string().regex(/^[0-9a-f]{64}\.tar\.gz$/),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.int().positive(),
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  toolbox: z.string().nullable(),
})

/** The archive with an agent, its Node and its toolbox, from which hosts install themselves. */
export interface HostBundle {
  /** Absolute path. */
  readonly path: string
  /** Hexadecimal. */
  readonly sha256: string
  readonly bytes: number
  /** Digest of the program in it, hexadecimal: the same for two archives of which only one has the toolbox image. */
  readonly digest: string
}

export interface HostBundles extends AsyncDisposable {
  /**
   * The bundle of this installation. It is made once for each start of the manager, in about ten seconds of a slow computer; calls
   * meanwhile wait for it.
   * @throws AppError `unavailable`
   */
  get(): Promise<HostBundle>
  /** A bundle that was handed out. @throws AppError `not_found` */
  find(sha256: string): HostBundle
}

/** Program of the build that makes the bundle; a package has it compiled. */
const PROGRAM = resolve(import.meta.dirname, `../../build/host/make-bundle${extname(import.meta.filename)}`)
/** A bundle without a toolbox is made anew after this time: the images of a first start may be there by then. */
const WITHOUT_TOOLBOX_MS = 60_000
const MAKE_WITHIN_MS = 10 * 60_000

export interface HostBundlesDeps {
  /** Folder for the archives; its content is replaced. */
  readonly directory: string
  readonly log: Log
  /** Makes a bundle in the folder and prints what it made; for tests. */
  readonly program?: string
}

/**
 * Makes the bundle by a process of its own, with low priority, because it reads and packs 170 MB. The installation is the source, so what
 * hosts run is what this computer runs.
 */
export function createHostBundles({ directory, log, program = PROGRAM }: HostBundlesDeps): HostBundles {
  const known = new Map<string, HostBundle>()
  let latest: { readonly bundle: Promise<HostBundle>; staleAt: number } | undefined
  const stop = new AbortController()

  async function make(): Promise<HostBundle> {
    log.info({ directory }, 'the bundle for hosts is being made')
    if (known.size === 0) await removeOld()
    const { file, toolbox, ...made } = await runProgram()
    const bundle = { ...made, path: join(directory, file) }
    known.set(bundle.sha256, bundle)
    if (toolbox === null && latest) latest.staleAt = performance.now() + WITHOUT_TOOLBOX_MS
    log.info({ ...bundle, toolbox }, 'the bundle for hosts is ready')
    return bundle
  }

  /** Bundles of earlier starts. */
  async function removeOld(): Promise<void> {
    const names = await readdir(directory).catch(() => [])
    await Promise.all(names.map(name => rm(join(directory, name), { recursive: true, force: true })))
  }

  async function runProgram(): Promise<z.infer<typeof Made>> {
    const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(MAKE_WITHIN_MS)])
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, directory], {
      stdio: ['ignore', 'pipe', 'pipe'],
      signal,
    })
    const closed = new Promise<number | null>((done, fail) => child.once('close', done).once('error', fail))
    if (child.pid !== undefined) lowerPriority(child.pid)
    const [printed, complaint, code] = await Promise.all([text(child.stdout), text(child.stderr), closed])
    const { data } = Made.safeParse(parseJson(printed))
    if (code === 0 && data) return data
    throw new Error(`make-bundle ended with ${String(code)}: ${complaint.trim().slice(-2000)}`)
  }

  return {
    async get() {
      if (!latest || performance.now() > latest.staleAt) {
        latest = { bundle: make(), staleAt: Infinity }
        // Also where nobody waits for it yet.
        latest.bundle.catch((error: unknown) => {
          latest = undefined
          if (!stop.signal.aborted) log.error({ err: error }, 'the bundle for hosts could not be made')
        })
      }
      try {
        return await latest.bundle
      } catch (error) {
        throw new AppError('unavailable', because('host_bundle_not_made'), { cause: error })
      }
    },
    find(sha256) {
      const bundle = known.get(sha256)
      if (!bundle) throw new AppError('not_found', because('host_bundle_gone'))
      return bundle
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await latest?.bundle.catch(() => undefined)
    },
  }
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // The process has ended already.
  }
}
