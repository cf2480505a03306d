import { PassThrough } from 'node:stream'
import { type Exec, type ExecCreateOptions } from 'dockerode'
import { expect, test } from 'vitest'
import { KernelApp } from '#agent/contract'
import { type EngineClient } from '../docker/engine-client.ts'
import { createApps, withoutSecret } from './apps.ts'
import { type RunningKernel } from '../running-kernel.ts'

const SECRET = '0f1e2d3c4b5a69788796a5b4'

test('the secret of an app is removed from its shown output', () => {
  expect(withoutSecret(`open http://x/?token=${SECRET} or ?token=${SECRET}`, SECRET)).toBe(
    'open http://x/?token=*** or ?token=***',
  )
})

test('a part of a secret at the beginning of the kept output is removed too', () => {
  expect(withoutSecret(`${SECRET.slice(9)} is the token`, SECRET)).toBe('*** is the token')
})

test('the output of an app without a secret is not changed', () => {
  expect(withoutSecret('port in use', '')).toBe('port in use')
})

const app = (name: string, port: number) =>
  KernelApp.parse({ name, title: name, port, protocol: 'http', secret: 'jupyter', command: ['serve', '{secret}'] })
const KERNEL = {
  kernelId: 'kernel',
  containerId: 'container',
  user: '1000:1000',
  pid: 0,
  apps: [app('lab', 80), app('code', 81)],
} as unknown as RunningKernel

/** Apps of one kernel; `calls` answers the checks for open ports, and `streams` runs the apps. */
function appsOn({ listening, execute }: { listening: readonly number[]; execute?: (cmd: readonly string[]) => Exec }) {
  const table = listening.map(port => `0: 00000000:${port.toString(16)} 00000000:0000 0A`)
  const look = {
    start: () => Promise.resolve([frame(['head', ...table].join('\n'))]),
    inspect: () => Promise.resolve({ ExitCode: 0 }),
  }
  const calls = { getContainer: () => ({ exec: () => Promise.resolve(look) }) }
  const streams = {
    getContainer: () => ({ exec: ({ Cmd = [] }: ExecCreateOptions) => Promise.resolve(execute?.(Cmd)) }),
  }
  let secrets: Readonly<Record<string, string>> = {}
  return createApps({
    engine: { calls, streams } as unknown as EngineClient,
    files: {
      hasStartScript: () => Promise.resolve(false),
      readSecrets: () => Promise.resolve(secrets),
      async writeSecrets(_kernelId, all) {
        await new Promise(setImmediate)
        secrets = all
      },
    },
    sshRenewal: {
      keysOf: () => Promise.reject(new Error('no app of these tests is an SSH server')),
      commandOf: () => Promise.resolve(undefined),
    },
    find: () => KERNEL,
  })
}

function frame(text: string): Buffer {
  const header = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0])
  header.writeUInt32BE(Buffer.byteLength(text), 4)
  return Buffer.concat([header, Buffer.from(text)])
}

test('apps of a session that start in parallel keep their own secrets', async () => {
  const apps = appsOn({ listening: [80, 81] })
  const both = () => Promise.all(['lab', 'code'].map(async name => (await apps.ensure('kernel', name)).inject?.value))
  const given = await both()
  expect(new Set(given).size).toBe(2)
  expect(await both()).toEqual(given)
})

test('output is split wherever the engine cuts it, and the secret in it is still found', async () => {
  const execute = ([, secret = '']: readonly string[]) => {
    const output = new PassThrough()
    const sent = Buffer.concat([frame(`open http://x/?token=${secret}\n`), frame('the port is taken\n')])
    const cuts = [0, 3, 40, 60, sent.length]
    const send = async () => {
      for (const [index, cut] of cuts.entries()) {
        output.write(sent.subarray(cut, cuts[index + 1] ?? cut))
        await new Promise(setImmediate)
      }
      output.end()
    }
    void send()
    const inspect = () => Promise.resolve({ ExitCode: 1 })
    return { start: () => Promise.resolve(output), inspect } as unknown as Exec
  }
  await expect(appsOn({ listening: [], execute }).ensure('kernel', 'lab')).rejects.toMatchObject({
    code: 'app_failed',
    detail: {
      why: 'The app ended with exit code 1. The end of its output: open http://x/?token=***\nthe port is taken',
    },
  })
})

test('connections to a forwarded port share one wait for its program', async () => {
  const apps = appsOn({ listening: [8080] })
  const waits = Array.from({ length: 28 }, () => apps.ensure('kernel', 'http-8080'))
  expect(new Set(waits).size).toBe(1)
  expect(await waits[0]).toMatchObject({ inject: null, app: { port: 8080, command: [] } })
  await expect(apps.ensure('kernel', 'nothing')).rejects.toMatchObject({ code: 'app_not_found' })
})
