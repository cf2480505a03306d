import { z, type ZodType } from 'zod'
import { channelOf, HOST_METHODS, type HostApi, type HostInputs, type Reply } from '#proxy/contract'
import { AppError, toWireError } from '#manager/contract'
import { type ElectronSlice, type InvokeEvent } from '../electron-slice.ts'
import { isTrusted } from '../security/console-origin.ts'

export interface ServeHostApiDeps {
  readonly ipcMain: ElectronSlice['ipcMain']
  readonly inputs: HostInputs
  /** The API for one page, which sees only its own terminals. */
  readonly apiFor: (page: InvokeEvent['sender']) => HostApi
  readonly onUnexpected: (where: string, error: unknown) => void
}

/**
 * Serves HostApi to our pages. The bridge is the page's only access to this computer, and the page shows text from containers.
 * So callers must be the top frame of our own origin, arguments must match their schema, and a failure is returned as data; of
 * an unexpected error it says only that it occurred.
 */
export function serveHostApi({ ipcMain, inputs, apiFor, onUnexpected }: ServeHostApiDeps): Disposable {
  const channels: string[] = []
  for (const { group, method, schema, call } of methods(inputs)) {
    const channel = channelOf(group, method)
    channels.push(channel)
    ipcMain.handle(channel, async (event, args): Promise<Reply<unknown>> => {
      try {
        if (!isTrusted(event)) throw new AppError('forbidden', { channel })
        const input = schema.safeParse(args)
        if (!input.success) throw new AppError('bad_request', { channel, why: z.prettifyError(input.error) })
        return { ok: true, value: await call(apiFor(event.sender), input.data) }
      } catch (error) {
        const wire = toWireError(error)
        if (wire.code === 'internal') onUnexpected(channel, error)
        return { ok: false, error: wire }
      }
    })
  }
  return { [Symbol.dispose]: () => channels.forEach(channel => ipcMain.removeHandler(channel)) }
}

type Methods = Record<string, Record<string, (...args: readonly unknown[]) => Promise<unknown>>>

/** The types of the four tables agree by construction; the compiler cannot follow the iteration by name. */
function methods(inputs: HostInputs) {
  const schemas = inputs as unknown as Record<string, Record<string, ZodType<readonly unknown[]>>>
  return Object.entries(HOST_METHODS).flatMap(([group, names]) =>
    Object.keys(names).map(method => {
      const schema = schemas[group]?.[method]
      if (!schema) throw new Error(`no schema for ${group}.${method}`)
      const call = (api: HostApi, args: readonly unknown[]) =>
        (api as unknown as Methods)[group]?.[method]?.(...args) ?? Promise.reject(new AppError('not_found'))
      return { group, method, schema, call }
    }),
  )
}
