import { readFile } from 'node:fs/promises'
import { brotliCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'

const PAGE = new URL('../../dist/renderer/', import.meta.url)

interface Chunk {
  readonly file: string
  readonly isEntry?: boolean
  readonly css?: readonly string[]
  readonly imports?: readonly string[]
}

/** Everything that the browser fetches before these parts of the page can run, as Vite tells in its manifest. */
async function weigh(parts: readonly string[]) {
  const manifest = JSON.parse(await readFile(new URL('.vite/manifest.json', PAGE), 'utf8')) as Record<string, Chunk>
  const files = new Set(['index.html'])
  const seen = new Set<string>()
  const add = (name: string) => {
    if (seen.has(name)) return
    seen.add(name)
    const chunk = manifest[name]
    if (!chunk) throw new Error(`the page has no part ${name}`)
    for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file)
    for (const each of chunk.imports ?? []) add(each)
  }
  for (const [name, { isEntry }] of Object.entries(manifest)) if (isEntry) add(name)
  for (const part of parts) add(part)
  const sizes = await Promise.all(
    [...files].map(async file => brotliCompressSync(await readFile(new URL(file, PAGE))).length),
  )
  return { requests: files.size, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

const SIGN_IN = ['features/account/SignInPage.vue']
const SESSIONS = [...SIGN_IN, 'app/AppShell.vue', 'features/sessions/SessionsPage.vue']

test.each([
  ['the sign-in', SIGN_IN, { requests: 16, bytes: 190_000 }],
  ['the sessions after it', SESSIONS, { requests: 36, bytes: 260_000 }],
])('%s is small over the wire', async (name, parts, budget) => {
  const weight = await weigh(parts)
  console.info(`${name}: ${weight.requests} files, ${weight.bytes} bytes with brotli`)
  expect(weight.bytes).toBeLessThanOrEqual(budget.bytes)
  expect(weight.requests).toBeLessThanOrEqual(budget.requests)
})
