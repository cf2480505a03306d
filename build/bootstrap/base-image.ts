import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPackages, missingPackages } from './apt.ts'
import { connect, followBuild, type ImageDeps } from './build-image.ts'
import { runCommand } from './command.ts'
import { type EngineEndpoint, inspectLocalImage } from './engine-client.ts'
import { readText, type Platform } from './platform.ts'
import { SessionsUnavailable, StepError, WITHOUT_SESSIONS } from './progress.ts'

const REPOSITORY = 'debian'
/** Give up on a registry after this much silence. */
const REGISTRY_SILENCE_MS = 15_000

export interface BaseImageDeps extends ImageDeps {
  readonly platform: Platform
  /** Directory in which the file system of a home-made image is built; removed afterwards. */
  readonly workDir: string
  /** Name of the release. */
  readonly suite?: Suite
}

/** The release of the images, and an older one that packages are tried on. */
export type Suite = 'trixie' | 'bookworm'

const tagOf = (suite: Suite) => `${suite}-slim`
const imageOf = (suite: Suite) => `${REPOSITORY}:${tagOf(suite)}`

/** Label of a base that was made here, or that an administrator vouches for. Images of sessions never carry it. */
const LABEL_BASE = 'berth.base'

/**
 * Ensures that `debian:trixie-slim`, or that of another release, exists: pulled if a registry answers, else built from Debian's packages.
 *
 * Threat model: programs of this image run in everybody's sessions, as part of the toolbox. A name alone proves nothing, because anybody
 * may have given it to an image on this engine. An image is therefore used only if it has our label or came from a registry.
 *
 * @throws SessionsUnavailable where no registry answers and Berth cannot make the image itself
 */
export async function ensureBaseImage(deps: BaseImageDeps): Promise<string> {
  const { engine, platform, note, signal, suite = 'trixie' } = deps
  const image = imageOf(suite)
  if (await isTrusted(engine, suite)) return 'already there'
  signal.throwIfAborted()
  try {
    await pull(deps, image)
    return 'pulled'
  } catch (error) {
    signal.throwIfAborted()
    const why = error instanceof Error ? error.message : String(error)
    if (!platform.root || !platform.debianLike) {
      throw new SessionsUnavailable(
        `${image} cannot be pulled: ${why}`,
        `Pull it (docker pull ${image}) and repeat, or load it and vouch for it: ${vouchFor(suite)} As root on Debian or Ubuntu Berth makes it with debootstrap. ${WITHOUT_SESSIONS}`,
        { cause: error },
      )
    }
    note(`no registry answers (${why}); making it with debootstrap`)
  }
  await make(deps, suite)
  return 'made with debootstrap'
}

/** A command that gives a loaded image the label. */
const vouchFor = (suite: Suite) =>
  `echo FROM ${imageOf(suite)} | docker build --label ${LABEL_BASE}=${tagOf(suite)} -t ${imageOf(suite)} -`

/**
 * Whether to build from the local image. In containerd's image store every image has its own digest, so only a different digest shows that
 * the image came from a registry. A base that did is queried there again, which costs one request.
 */
async function isTrusted(engine: EngineEndpoint, suite: Suite): Promise<boolean> {
  const image = await inspectLocalImage(engine, imageOf(suite))
  if (image === undefined) return false
  if (image.Config?.Labels?.[LABEL_BASE] === tagOf(suite)) return true
  return (image.RepoDigests ?? []).some(name => name.startsWith(`${REPOSITORY}@`) && !name.endsWith(`@${image.Id}`))
}

async function pull({ engine, note, signal }: BaseImageDeps, image: string): Promise<void> {
  const docker = await connect(engine)
  const silence = new AbortController()
  const watch = setTimeout(() => silence.abort(new Error('the registry does not answer')), REGISTRY_SILENCE_MS)
  try {
    const either = AbortSignal.any([signal, silence.signal])
    const stream = await docker.pull(image, { abortSignal: either })
    const said = (text: string) => {
      watch.refresh()
      note(text)
    }
    await followBuild(docker, stream, said, either)
  } finally {
    clearTimeout(watch)
  }
}

/**
 * Builds an image that equals the official slim image in all that matters here: minimal Debian with security updates, no
 * documentation, no services.
 */
async function make({ engine, note, signal, workDir }: BaseImageDeps, suite: Suite): Promise<void> {
  const missing = await missingPackages(['debootstrap', 'debian-archive-keyring'])
  if (missing.length > 0) await installPackages(missing, note, signal)
  mkdirSync(workDir, { recursive: true })
  await removeLeftovers(workDir)
  const folder = mkdtempSync(join(workDir, `debian-${process.pid}-`))
  try {
    await runCommand('debootstrap', ['--variant=minbase', suite, folder], { note, signal })
    const sources = sourcesOf(suite, readText(join(folder, 'etc/apt/sources.list')))
    const slim = [
      'var/cache/apt',
      'var/lib/apt/lists',
      'debootstrap',
      'etc/resolv.conf',
      'etc/hostname',
      'etc/apt/sources.list',
    ]
    const papers = ['doc', 'man', 'info', 'lintian', 'locale'].map(name => `usr/share/${name}`)
    for (const path of [...slim, ...papers]) rmSync(join(folder, path), { recursive: true, force: true })
    for (const path of ['var/cache/apt/archives/partial', 'var/lib/apt/lists/partial'])
      mkdirSync(join(folder, path), { recursive: true })
    writeFileSync(join(folder, 'etc/apt/sources.list.d/debian.sources'), sources)
    // Packages installed in an image must not start services.
    writeFileSync(join(folder, 'usr/sbin/policy-rc.d'), '#!/bin/sh\nexit 101\n')
    chmodSync(join(folder, 'usr/sbin/policy-rc.d'), 0o755)
    signal.throwIfAborted()

    note('importing')
    const docker = await connect(engine)
    const tar = spawn('tar', ['-C', folder, '--numeric-owner', '-c', '.'], { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = once(tar, 'close')
    const answer = await docker.importImage(tar.stdout, {
      repo: REPOSITORY,
      tag: tagOf(suite),
      changes: [
        'CMD ["bash"]',
        `LABEL ${LABEL_BASE}=${tagOf(suite)}`,
        'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      ],
    })
    await followBuild(docker, answer, note, signal)
    const [code] = (await ended) as [number | null]
    if (code !== 0) {
      await docker.getImage(imageOf(suite)).remove()
      throw new StepError(`tar ended with ${String(code)}: the image would not be whole.`, 'Look for room on the disk.')
    }
  } finally {
    await removeTree(folder)
  }
}

/**
 * Package sources of the image: the mirror that debootstrap used, and its security updates.
 * @param list the sources.list written by debootstrap
 */
function sourcesOf(suite: Suite, list: string | undefined): string {
  const mirror = /^deb (\S+?)\/? /m.exec(list ?? '')?.[1]
  if (mirror === undefined) throw new StepError('debootstrap left no sources.list; remove the image and start again.')
  const entry = (uri: string, suites: string) =>
    `Types: deb\nURIs: ${uri}\nSuites: ${suites}\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n`
  return [entry(mirror, `${suite} ${suite}-updates`), entry(`${mirror}-security`, `${suite}-security`)].join('\n')
}

/** Removes folders of killed runs; the name of a folder in use contains a live process id. */
async function removeLeftovers(workDir: string): Promise<void> {
  for (const name of readdirSync(workDir)) {
    const pid = /^debian-(\d+)-/.exec(name)?.[1]
    if (pid !== undefined && readText(`/proc/${pid}/status`) === undefined) await removeTree(join(workDir, name))
  }
}

/** An interrupted debootstrap may leave /proc and /sys mounted in the folder: never delete through them. */
async function removeTree(folder: string): Promise<void> {
  const mounts = (readText('/proc/mounts') ?? '').split('\n').map(line => line.split(' ')[1] ?? '')
  for (const mount of mounts.filter(path => path.startsWith(`${folder}/`)).toReversed()) {
    await runCommand('umount', ['-l', mount])
  }
  await runCommand('rm', ['-rf', '--one-file-system', folder], { indivisible: true })
}
