import { request } from 'node:http'

/** The Docker Engine at DOCKER_HOST, as far as the check looks at it beside Berth. Needs no packages. */
export interface Engine {
  get(path: string, signal: AbortSignal): Promise<unknown>
  /** Ids of the containers of one Berth, running or not. */
  containersOf(managerId: string, signal: AbortSignal): Promise<string[]>
  /** Removes the containers and the volumes of one Berth. */
  removeAllOf(managerId: string, signal: AbortSignal): Promise<void>
}

export function openEngine(where = process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock'): Engine {
  const url = new URL(where)
  const target = url.protocol === 'unix:' ? { socketPath: url.pathname } : { host: url.hostname, port: url.port }

  async function call(method: string, path: string, signal: AbortSignal): Promise<unknown> {
    const { status, text } = await new Promise<{ status: number; text: string }>((done, fail) => {
      const sent = request({ ...target, method, path, signal }, response => {
        let text = ''
        response.on('data', (chunk: Buffer) => (text += chunk.toString()))
        response.once('end', () => done({ status: response.statusCode ?? 0, text }))
        response.once('error', fail)
      })
      sent.once('error', fail).end()
    })
    if (status >= 400) throw new Error(`the engine answers ${status}: ${text.trim()}`)
    return text === '' ? undefined : JSON.parse(text)
  }

  const labelled = (managerId: string) =>
    `filters=${encodeURIComponent(JSON.stringify({ label: [`berth.manager=${managerId}`] }))}`
  async function containersOf(managerId: string, signal: AbortSignal): Promise<string[]> {
    const found = await call('GET', `/containers/json?all=1&${labelled(managerId)}`, signal)
    return (found as { Id: string }[]).map(({ Id }) => Id)
  }

  return {
    get: (path, signal) => call('GET', path, signal),
    containersOf,
    async removeAllOf(managerId, signal) {
      for (const id of await containersOf(managerId, signal))
        await call('DELETE', `/containers/${id}?force=1&v=1`, signal)
      const { Volumes } = (await call('GET', `/volumes?${labelled(managerId)}`, signal)) as {
        Volumes: { Name: string }[] | null
      }
      for (const { Name } of Volumes ?? []) await call('DELETE', `/volumes/${Name}`, signal)
    },
  }
}
