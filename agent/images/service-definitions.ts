import { extract } from 'tar-stream'
import { z } from 'zod'
import { type KernelApp, SERVICE_PORTS } from '#agent/contract'
import { parseJson } from '#base/parse-json'
import { AppError, type AppOptions, because } from '#manager/contract'
import { type EngineClient, isMissing } from '../docker/engine-client.ts'
import { type ImageOfFiles, readStart, withImageFiles } from './image-files.ts'
import { volumesOf } from './pull.ts'
import {
  DefinitionError,
  ServiceDefinition,
  type ServiceCommand,
  type ServiceValues,
  toServiceCommand,
} from './service-definition.ts'

const FOLDER = '/etc/backend.ai/service-defs'
/** Read limit: a larger archive contains more than definitions, and the rest is not read. */
const MAX_ARCHIVE_BYTES = 4 * 2 ** 20
const MAX_FILE_BYTES = 256 * 2 ** 10
const MAX_FILES = 200
const KEPT_IMAGES = 500

/** The services that images made for Backend.AI define in files, read once per image. */
export interface ServiceDefinitions {
  /**
   * Start command of an app for which the image's labels give none.
   *
   * @returns undefined if the image defines no such service
   *
   * @throws AppError `app_failed` if the definition cannot be used, `app_option_refused` if it does not allow an option; errors
   *   of the engine
   */
  find(
    containerId: string,
    app: Pick<KernelApp, 'name' | 'port'>,
    options?: AppOptions,
  ): Promise<ServiceCommand | undefined>
}

interface ImageServices {
  readonly definitions: ReadonlyMap<string, unknown>
  readonly ports: ReadonlyMap<string, readonly number[]>
  readonly runtimePath: string | undefined
}

/**
 * Reads the definitions from the image, because changes that a session made in its own container must not reach other sessions through the
 * cache.
 */
export function createServiceDefinitions(engine: EngineClient): ServiceDefinitions {
  const byImage = new Map<string, Promise<ImageServices>>()

  async function read(imageId: string): Promise<ImageServices> {
    const { Config } = await engine.calls.getImage(imageId).inspect()
    // Null in images without labels, whatever the types say.
    const labels = (Config.Labels as Record<string, string> | null) ?? {}
    const ports = portsOf(labels['ai.backend.service-ports'])
    const runtimePath = labels['ai.backend.runtime-path']
    if (ports.size === 0) return { definitions: new Map(), ports, runtimePath }
    return { definitions: await readFolder(engine, { id: imageId, volumes: volumesOf(Config) }), ports, runtimePath }
  }

  return {
    async find(containerId, app, options) {
      const { Image } = await engine.calls.getContainer(containerId).inspect()
      const reading = byImage.get(Image) ?? read(Image)
      byImage.set(Image, reading)
      reading.catch(() => byImage.delete(Image))
      const oldest = byImage.keys().next().value
      if (byImage.size > KEPT_IMAGES && oldest !== undefined) byImage.delete(oldest)
      const { definitions, ports, runtimePath } = await reading
      const definition = definitions.get(app.name)
      if (definition === undefined) return undefined
      return commandOf(app, definition, { ports: ports.get(app.name) ?? [app.port], runtimePath, options })
    },
  }
}

function commandOf(app: Pick<KernelApp, 'name'>, raw: unknown, values: ServiceValues): ServiceCommand {
  const why = (text: string) => because('service_definition_wrong', { text })
  const parsed = ServiceDefinition.safeParse(raw)
  if (!parsed.success) {
    throw new AppError('app_failed', { app: app.name, ...why(z.prettifyError(parsed.error)) })
  }
  try {
    return toServiceCommand(app.name, parsed.data, values)
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error
    throw new AppError('app_failed', { app: app.name, ...why(error.message) }, { cause: error })
  }
}

/** Converts a service name to an app name, as `readServicePorts` does. */
const appName = (service: string) => service.toLowerCase().replace(/_/g, '-')

/** All ports of each service; the app uses the first. */
function portsOf(text = ''): Map<string, readonly number[]> {
  const services = text.matchAll(SERVICE_PORTS)
  return new Map(
    [...services].map(([, name = '', , several, single]) => [
      appName(name),
      (several ?? single ?? '').split(',').map(Number),
    ]),
  )
}

async function readFolder(engine: EngineClient, image: Omit<ImageOfFiles, 'reader'>): Promise<Map<string, unknown>> {
  return withImageFiles(engine, { ...image, reader: 'berth-read' }, async container => {
    const archive = await container.getArchive({ path: FOLDER }).catch((error: unknown) => {
      if (isMissing(error)) return undefined
      throw error
    })
    return archive ? readArchive(archive) : new Map()
  })
}

/** Files `*.json` directly in the folder, by app name. Links, other file types and files that are too large are left out. */
export async function readArchive(archive: AsyncIterable<unknown>): Promise<Map<string, unknown>> {
  const found = new Map<string, unknown>()
  const { bytes, cut } = await readStart(archive, MAX_ARCHIVE_BYTES)
  const entries = extract()
  // The archive is read first, so that only this loop can fail because of it.
  entries.end(bytes)
  try {
    for await (const entry of entries) {
      const service = /^(?:\.\/)?service-defs\/([A-Za-z0-9_-]+)\.json$/.exec(entry.header.name)?.[1]
      const { type, size } = entry.header
      if (service === undefined || type !== 'file' || size > MAX_FILE_BYTES || found.size >= MAX_FILES) {
        entry.resume()
        continue
      }
      const chunks: Buffer[] = []
      for await (const chunk of entry) chunks.push(chunk as Buffer)
      const definition = parseJson(Buffer.concat(chunks).toString('utf8'))
      if (definition !== undefined) found.set(appName(service), definition)
    }
  } catch (error) {
    if (!cut) throw error
  }
  return found
}
