import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type Docker from 'dockerode'
import { pack } from 'tar-stream'
import { imageLabels, type EngineEndpoint } from './engine-client.ts'
import { imageHash, LABEL_RECIPE, recipeFiles, type Recipe } from './image-recipes.ts'
import { readNpmSettings } from './npm-settings.ts'
import { StepError, type Note } from './progress.ts'

export interface ImageDeps {
  readonly engine: EngineEndpoint
  readonly note: Note
  readonly signal: AbortSignal
}

/** Proxy variables of this machine, for builds that reach the network only through a proxy. */
const PROXY_VARIABLES = ['http_proxy', 'https_proxy', 'no_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']
const LABEL_STAGE = 'berth.stage'

/** Whether the image on the engine is the one that this recipe makes. */
export async function isBuilt(recipe: Recipe, engine: EngineEndpoint): Promise<boolean> {
  const hash = imageHash(recipe)
  const labels = await Promise.all(allTags(recipe, hash).map(tag => imageLabels(engine, tag)))
  return labels.every(found => found?.[LABEL_RECIPE] === hash)
}

/** Builds the image unless it exists. The engine tags it last, so that an interrupted build leaves no image. */
export async function ensureImage(recipe: Recipe, { engine, note, signal }: ImageDeps): Promise<string> {
  if (await isBuilt(recipe, engine)) return 'already there'
  signal.throwIfAborted()
  const hash = imageHash(recipe)
  const docker = await connect(engine)
  const [tag = '', ...others] = allTags(recipe, hash)
  const npm = recipe.npm === true ? await readNpmSettings() : undefined
  const stream = await docker.buildImage(packRecipe(recipe.folder, npm ? { 'npm-ca.crt': npm.certificates } : {}), {
    t: tag,
    labels: { [LABEL_RECIPE]: hash, 'berth.title': recipe.title },
    buildargs: {
      ...Object.fromEntries(
        PROXY_VARIABLES.flatMap(name => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
      ),
      ...(npm?.registry === undefined ? {} : { NPM_CONFIG_REGISTRY: npm.registry }),
      ...recipe.args,
    },
    forcerm: true,
    abortSignal: signal,
  })
  await followBuild(docker, stream, note, signal)
  for (const other of others) {
    const [repo = '', name = ''] = other.split(':')
    await docker.getImage(tag).tag({ repo, tag: name })
  }
  // Remove images left by the recipe's earlier stages; only ours, by label.
  await docker.pruneImages({ filters: JSON.stringify({ dangling: ['true'], label: [LABEL_STAGE] }) })
  return 'built'
}

/** Imports dockerode late: it is slow to load, and a warm start does not need it. */
export async function connect({ options }: EngineEndpoint): Promise<Docker> {
  const { default: Engine } = await import('dockerode')
  if (options.socketPath !== undefined) return new Engine({ socketPath: options.socketPath })
  return new Engine({
    host: options.host ?? 'localhost',
    port: options.port ?? 2375,
    protocol: options.protocol === 'https:' ? 'https' : 'http',
    ...(options.ca === undefined ? {} : { ca: options.ca, cert: options.cert ?? '', key: options.key ?? '' }),
  })
}

/**
 * Follows the engine's messages about a build, a pull or an import to their end.
 * @throws StepError with the engine's error message; the signal's reason
 */
export function followBuild(
  docker: Docker,
  stream: NodeJS.ReadableStream,
  note: Note,
  signal: AbortSignal,
): Promise<void> {
  const tail: string[] = []
  let refused: string | undefined
  return new Promise((resolve, reject) => {
    const stop = () => {
      reject(signal.reason as Error)
    }
    signal.addEventListener('abort', stop, { once: true })
    docker.modem.followProgress(
      stream,
      (error: Error | null) => {
        signal.removeEventListener('abort', stop)
        // A failed build is reported by a message in the stream; the stream itself ends normally.
        const why = error?.message ?? refused
        if (why === undefined) resolve()
        else reject(new StepError(why.trim(), tail.slice(-15).join('')))
      },
      (event: { stream?: string; status?: string; error?: string }) => {
        refused ??= event.error
        const text = event.stream ?? event.status ?? event.error ?? ''
        tail.push(text)
        if (tail.length > 100) tail.shift()
        if (text.trim() !== '') note(text)
      },
    )
  })
}

/** Tags of an image. The toolbox also has a tag with its hash, so that two versions can be in use at once. */
function allTags(recipe: Recipe, hash: string): string[] {
  const hashed = recipe.tags.filter(tag => tag.endsWith(':latest')).map(tag => tag.replace(/:latest$/, `:${hash}`))
  return [...hashed, ...recipe.tags]
}

/** @param more files of this computer that the build needs, by name; they do not count for the fingerprint */
function packRecipe(folder: string, more: Readonly<Record<string, string>>): NodeJS.ReadableStream {
  const archive = pack()
  for (const { path, executable } of recipeFiles(folder)) {
    // Fixed time and owner: the same recipe gives the same build context, which the engine's cache recognizes.
    archive.entry(
      { name: path, mode: executable ? 0o755 : 0o644, mtime: new Date(0) },
      readFileSync(join(folder, path)),
    )
  }
  for (const [name, content] of Object.entries(more)) archive.entry({ name, mode: 0o644, mtime: new Date(0) }, content)
  archive.finalize()
  // A streamx stream; the client only pipes it.
  return archive as unknown as NodeJS.ReadableStream
}
