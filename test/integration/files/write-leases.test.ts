import { expect, test } from 'vitest'
import { UploadId } from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { createWriteLeases } from '../../../manager/uploads/write-leases.ts'
import { startTestManager } from '../../fixtures/manager.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'

const COUNT = 12

test('uploads that wait for bytes are renewed by one statement, and checked again only where bytes arrive', async () => {
  await using stack = new AsyncDisposableStack()
  const manager = stack.use(await startTestManager())
  const { api, token } = await manager.addUser('owner@example.org')
  const { id: folder } = await api.createFolder({ body: { name: 'data' } })
  const create = async (index: number) => {
    const path = Buffer.from(`${index}.txt`).toString('base64')
    const headers = { 'tus-resumable': '1.0.0', 'upload-length': '9', 'upload-metadata': `path ${path}` }
    const reply = await rawRequest(`${manager.url}/api/v1/folders/${folder}/uploads`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, ...headers },
    })
    return UploadId.parse(reply.json?.id)
  }
  const ids = await Promise.all(Array.from({ length: COUNT }, (_, index) => create(index)))
  const { db: plain } = stack.use(await openToRead({ ...manager.source, log: silentLog }))
  let statements = 0
  const db = plain.withPlugin({
    transformQuery: ({ node }) => {
      statements++
      return node
    },
    transformResult: ({ result }) => Promise.resolve(result),
  })
  const leases = createWriteLeases({ db, livesSeconds: 3_600 })
  const { promise: over, resolve: end } = Promise.withResolvers<undefined>()
  const checks: number[] = []
  const arrivals: (() => void)[] = []
  const holding = ids.map((id, index) =>
    leases.withLease(
      id,
      () => Promise.resolve(checks.push(index)),
      async ({ arrived }) => {
        arrivals[index] = arrived
        await over
      },
    ),
  )
  await expect.poll(() => statements).toBe(COUNT)
  await expect.poll(() => arrivals.filter(Boolean)).toHaveLength(COUNT)
  arrivals[3]?.()
  await expect.poll(() => checks).toEqual([3])
  await expect.poll(() => statements).toBe(COUNT + 1)
  // Counted when it is sent: it may be done a moment later.
  const renewed = async () => {
    const rows = await plain.selectFrom('uploads').select(['writer_until', 'moved_at', 'created_at']).execute()
    const isHeld = rows.every(({ writer_until }) => (writer_until?.getTime() ?? 0) - Date.now() > 8_000)
    return [isHeld, rows.filter(({ moved_at, created_at }) => moved_at.getTime() - created_at.getTime() > 1_000).length]
  }
  await expect.poll(renewed).toEqual([true, 1])
  end(undefined)
  await Promise.allSettled(holding)
})
