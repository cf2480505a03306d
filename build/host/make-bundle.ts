// Makes the archive from which a new host gets its agent: `node build/host/make-bundle.ts FOLDER`. The manager runs this
// (`manager/agents/host-bundle.ts`). Prints one line of JSON, a `MadeBundle`; what goes wrong goes to standard error.
import { createWriteStream } from 'node:fs'
import { copyFile, mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { beginGet, type EngineEndpoint, engineEndpoint, inspectLocalImage } from '../bootstrap/engine-client.ts'
import { ROOT, toolboxReference } from '../bootstrap/image-recipes.ts'
import { stageNode, stagePackage, strip } from '../packages/stage-runtime.ts'
import { writeTarGz } from '../packages/tar-folder.ts'
import { unitFor, writeLauncher } from '../packages/targets/server-tree.ts'
import { copyOwnParts, installedPackages, OWN_PACKAGES } from './bundle-files.ts'
import { fileDigest, programDigest, programVersion } from './program-digest.ts'

/** The line that this program prints. */
interface MadeBundle {
  /** Name of the archive in the folder. */
  readonly file: string
  /** Hexadecimal. */
  readonly sha256: string
  readonly bytes: number
  /** Digest of the program in it (`program-digest.ts`), hexadecimal. */
  readonly digest: string
  /** Reference of the toolbox image in the bundle; null if this computer's engine does not have it. */
  readonly toolbox: string | null
}

/** Folder of the version in use on a host; `add-host.sh` sets the link. */
const CURRENT = '/opt/berth/current'
/** The largest file, Node, hardly gets smaller by more effort, and an administrator waits. */
const GZIP_LEVEL = 6

/** Names that Docker gives to processors. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

const [folder] = process.argv.slice(2)
if (folder === undefined || process.platform !== 'linux') {
  process.stderr.write(`usage: make-bundle FOLDER (on Linux)\n`)
  process.exit(2)
}
await mkdir(folder, { recursive: true, mode: 0o700 })
const work = await mkdtemp(join(folder, '.making-'))
try {
  process.stdout.write(`${JSON.stringify(await make(folder, work))}\n`)
} finally {
  await rm(work, { recursive: true, force: true })
}

async function make(to: string, at: string): Promise<MadeBundle> {
  const tree = join(at, 'tree')
  await mkdir(tree)
  copyOwnParts(ROOT, tree)
  for (const { path, base } of installedPackages(ROOT, OWN_PACKAGES)) stagePackage(path, tree, base)
  for (const { path, base } of installedPackages(ROOT, [`node-linux-${process.arch}`])) stageNode(path, tree, base)
  await strip(tree)
  writeLauncher(tree)
  await copyFile(join(ROOT, 'build', 'host', 'add-host.sh'), join(tree, 'add-host.sh'))
  await writeFile(join(tree, 'berth-agent.service'), unit())
  const digest = await programDigest(tree)
  await writeFile(join(tree, 'program.json'), `${JSON.stringify({ version: programVersion(ROOT), digest })}\n`)
  const toolbox = await saveToolbox(join(tree, 'toolbox.tar'))
  await writeFile(join(tree, 'host.env'), toolbox === null ? '' : toolboxVariables(toolbox))
  const archive = join(at, 'bundle.tar.gz')
  // The time of the installation: two managers of one version make the same archive.
  const seconds = Math.floor((await stat(join(ROOT, 'package.json'))).mtimeMs / 1000)
  await writeTarGz(tree, archive, { prefix: 'berth', seconds, level: GZIP_LEVEL })
  const sha256 = await fileDigest(archive)
  const file = `${sha256}.tar.gz`
  await rename(archive, join(to, file))
  return { file, sha256, bytes: (await stat(join(to, file))).size, digest, toolbox }
}

/** The unit of the packages, which also reads the variables of the version in use. */
function unit(): string {
  const own = 'EnvironmentFile=-/etc/berth/agent.env'
  const text = unitFor('berth-agent.service', `${CURRENT}/berth`)
  if (!text.includes(own)) throw new Error('the service file of the agent reads no variables')
  return text.replace(own, `EnvironmentFile=-${CURRENT}/host.env\n${own}`)
}

/** Variables of an agent whose toolbox is in the bundle. */
function toolboxVariables(reference: string): string {
  return `BERTH_TOOLBOX_IMAGE=${reference}\nBERTH_TOOLBOX_ARCHIVE=${CURRENT}/toolbox.tar\n`
}

/** Saves the toolbox of this version. @returns its reference; null if this computer's engine has none, or does not answer */
async function saveToolbox(file: string): Promise<string | null> {
  const engine = engineEndpoint(process.env)
  const reference = toolboxReference()
  const image = engine && (await inspectLocalImage(engine, reference).catch(() => undefined))
  if (!engine || image?.Architecture !== ARCHITECTURES[process.arch]) return null
  await download(engine, `/images/${reference}/get`, file)
  return reference
}

function download(engine: EngineEndpoint, path: string, file: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>()
  const call = beginGet(engine, { path }, response => {
    if (response.statusCode === 200) pipeline(response, createWriteStream(file)).then(() => resolve(undefined), reject)
    else {
      response.resume()
      reject(new Error(`Docker Engine answered ${String(response.statusCode)} to ${path}`))
    }
  })
  call.on('error', reject).end()
  return promise
}
