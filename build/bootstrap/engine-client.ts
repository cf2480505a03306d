import { existsSync, readFileSync } from 'node:fs'
import { type ClientRequest, type IncomingMessage, request, type RequestOptions } from 'node:http'
import { request as requestTls } from 'node:https'
import { join } from 'node:path'

/** Address of a Docker Engine, as options of node:http. */
export interface EngineEndpoint {
  /** Address in the form of DOCKER_HOST. */
  readonly host: string
  readonly options: RequestOptions & { ca?: Buffer; cert?: Buffer; key?: Buffer }
}

export const DEFAULT_SOCKET = '/var/run/docker.sock'
/** Time limit of a request: long enough for a busy engine, short enough for a hanging one. */
const TIMEOUT_MS = 5_000

/**
 * The engine that this environment selects: DOCKER_HOST (unix, tcp; TLS by DOCKER_TLS_VERIFY and DOCKER_CERT_PATH), else the
 * usual socket, else that of rootless Docker or Docker Desktop.
 *
 * @returns undefined for a DOCKER_HOST of another kind (ssh, npipe)
 */
export function engineEndpoint(
  env: NodeJS.ProcessEnv,
  exists: (path: string) => boolean = existsSync,
): EngineEndpoint | undefined {
  const host = env.DOCKER_HOST
  if (host === undefined || host === '') {
    const others = [
      env.XDG_RUNTIME_DIR === undefined ? undefined : join(env.XDG_RUNTIME_DIR, 'docker.sock'),
      env.HOME === undefined ? undefined : join(env.HOME, '.docker', 'run', 'docker.sock'),
    ]
    const socket = [DEFAULT_SOCKET, ...others].find(path => path !== undefined && exists(path)) ?? DEFAULT_SOCKET
    return { host: `unix://${socket}`, options: { socketPath: socket } }
  }
  if (host.startsWith('unix://')) return { host, options: { socketPath: host.slice('unix://'.length) } }
  if (!host.startsWith('tcp://')) return undefined
  const url = new URL(host.replace('tcp://', 'http://'))
  const tls = env.DOCKER_TLS_VERIFY !== undefined && env.DOCKER_TLS_VERIFY !== ''
  const where = { host: url.hostname, port: url.port === '' ? (tls ? 2376 : 2375) : Number(url.port) }
  if (!tls) return { host, options: where }
  const folder = env.DOCKER_CERT_PATH ?? join(env.HOME ?? '', '.docker')
  const read = (name: string) => readFileSync(join(folder, name))
  return {
    host,
    options: { ...where, protocol: 'https:', ca: read('ca.pem'), cert: read('cert.pem'), key: read('key.pem') },
  }
}

/** Begins a GET of the engine; the caller ends it and listens for its errors. */
export function beginGet(
  { options }: EngineEndpoint,
  more: Pick<RequestOptions, 'path' | 'timeout'>,
  onResponse: (response: IncomingMessage) => void,
): ClientRequest {
  const send = options.protocol === 'https:' ? requestTls : request
  return send({ ...options, ...more }, onResponse)
}

/**
 * Sends one GET to the engine.
 * @returns the parsed JSON, or the text of an answer of another type
 * @throws the system's error (`code`: ENOENT, EACCES, ECONNREFUSED …); an Error with `status` for a status of 400 and above
 */
export function getFromEngine(engine: EngineEndpoint, path: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const call = beginGet(engine, { path, timeout: TIMEOUT_MS }, response => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('error', reject)
      response.on('end', () => {
        const status = response.statusCode ?? 500
        if (status >= 400)
          reject(Object.assign(new Error(`Docker Engine answered ${String(status)}: ${text.trim()}`), { status }))
        else
          resolve(
            response.headers['content-type']?.startsWith('application/json') === true
              ? (JSON.parse(text) as unknown)
              : text,
          )
      })
    })
    call.on('timeout', () =>
      call.destroy(Object.assign(new Error('Docker Engine does not answer'), { code: 'ETIMEDOUT' })),
    )
    call.on('error', reject)
    call.end()
  })
}

/** An image as the engine describes it. */
export interface LocalImage {
  readonly Id: string
  readonly RepoDigests?: readonly string[] | null
  readonly Architecture?: string
  readonly Config?: { readonly Labels?: Readonly<Record<string, string>> | null }
}

/** Labels of an image on the engine; undefined if the image does not exist. */
export async function imageLabels(
  engine: EngineEndpoint,
  reference: string,
): Promise<Readonly<Record<string, string>> | undefined> {
  const image = await inspectLocalImage(engine, reference)
  return image && (image.Config?.Labels ?? {})
}

/** @returns undefined if the image does not exist */
export async function inspectLocalImage(engine: EngineEndpoint, reference: string): Promise<LocalImage | undefined> {
  try {
    return (await getFromEngine(engine, `/images/${reference}/json`)) as LocalImage
  } catch (error) {
    if ((error as { status?: number }).status === 404) return undefined
    throw error
  }
}
