import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { createClient as generate } from '@hey-api/openapi-ts'
import openapiTS, { astToString } from 'openapi-typescript'
import { build } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN, startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'

/** Clients that generators make of the description, without a change by hand. */
const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../../..')
const MODULES = join(root, 'node_modules')
const TSC = join(MODULES, 'typescript-native/bin/tsc')

let manager: TestManager
let directory: string
beforeAll(async () => {
  manager = await startTestManager()
  directory = await mkdtemp(join(tmpdir(), 'berth-test-openapi-'))
  await symlink(MODULES, join(directory, 'node_modules'))
  const { text } = await rawRequest(`${manager.url}/api/v1/openapi.json`)
  await writeFile(join(directory, 'berth.json'), text)
})
afterAll(async () => {
  await manager[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

async function compile(file: string, source: string): Promise<void> {
  await writeFile(join(directory, file), source)
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'esnext', '--moduleResolution', 'bundler']
  const args = [TSC, ...options, '--target', 'esnext', '--types', 'node', file]
  // The compiler writes what is wrong to its standard output.
  await run(process.execPath, args, { cwd: directory }).catch((error: unknown) => {
    throw new Error((error as { stdout: string }).stdout)
  })
}

test('openapi-typescript: only what the manager demands is required', async () => {
  const types = astToString(await openapiTS(pathToFileURL(join(directory, 'berth.json'))))
  await writeFile(join(directory, 'berth.d.ts'), types)
  await compile(
    'types.ts',
    `import type { operations } from './berth.d.ts'
     type Body<Name extends keyof operations> = operations[Name] extends { requestBody: { content: { 'application/json': infer B } } } ? B : never
     export const launch: Body<'createSession'> = { image: 'berth/python:3.13', resources: { cpu: '1', mem: '1g' } }
     export const command: Body<'runCommand'> = { command: ['true'] }
     export const login: Body<'login'> = { email: 'a@example.org', password: 'b', kind: 'token' }
     export const folder: Body<'createFolder'> = { name: 'results' }
     export const page: operations['listSessions']['parameters']['query'] = {}
     export const token: Body<'createAccessToken'> = { name: 'model', scopes: ['launch'] }
     export const file: operations['readSessionFile']['parameters']['query'] = { path: 'results.csv' }
     export const program: operations['grantToProgram']['parameters']['path'] = { id: 'session', app: 'http-8000' }
     export const files: operations['listSessionFiles']['parameters']['query'] = {}
     // @ts-expect-error: the path is required
     export const nowhere: operations['writeSessionFile']['parameters']['query'] = {}
     // @ts-expect-error: a grant names an app
     export const noApp: operations['grantToProgram']['parameters']['path'] = { id: 'session' }
     // @ts-expect-error: the image is required
     export const wrong: Body<'createSession'> = { resources: {} }`,
  )
})

test('@hey-api/openapi-ts: its client signs in, makes a folder, and gets typed problems', async () => {
  await generate({ input: join(directory, 'berth.json'), output: join(directory, 'berth'), logs: { level: 'silent' } })
  await compile(
    'client.ts',
    `import { client } from './berth/client.gen'
     import { createFolder, listFolders, listSessions, login } from './berth/sdk.gen'
     client.setConfig({ baseUrl: process.env.BERTH })
     const { data, error } = await login({ body: { email: process.env.EMAIL!, password: process.env.PASSWORD!, kind: 'token' } })
     if (!data) throw new Error(error.code)
     client.setConfig({ headers: { authorization: \`Bearer \${data.token}\` } })
     const made = await createFolder({ body: { name: 'results' }, headers: { 'idempotency-key': 'one' } })
     const again = await createFolder({ body: { name: 'results' } })
     const folders = await listFolders()
     const sessions = await listSessions({ query: { status: 'live', limit: 5 } })
     const seen = [made.data?.name, again.error?.code, folders.data?.items.length, sessions.data?.items.length]
     process.stdout.write(JSON.stringify(seen))`,
  )
  await build({
    root: directory,
    logLevel: 'silent',
    build: {
      ssr: 'client.ts',
      outDir: 'built',
      target: 'esnext',
      rolldownOptions: { output: { entryFileNames: 'client.mjs' } },
    },
  })
  const env = { ...process.env, BERTH: manager.url, EMAIL: ADMIN.email, PASSWORD: ADMIN.password }
  const { stdout } = await run(process.execPath, ['built/client.mjs'], { cwd: directory, env })
  expect(JSON.parse(stdout)).toEqual(['results', 'folder_exists', 1, 0])
})
