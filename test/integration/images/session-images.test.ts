import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type ApiClient } from '#manager/contract'
import { PYTHON, ScriptedError } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster()
})
afterAll(() => cluster[Symbol.asyncDispose]())
afterEach(() => cluster.reset())

describe('images of sessions', () => {
  test('the owner asks, a superadmin accepts, the agent makes it; nobody else may ask, and no name is taken twice', async () => {
    const steps: string[] = []
    const ada = await cluster.addUser('saves@example.org')
    const name = `saves-${(await ada.me()).user.id.slice(-8)}`
    const going = Promise.withResolvers<{ id: string }>()
    const held = { ...PYTHON, id: `sha256:${'b'.repeat(64)}`, references: [`users/${name}/held:1`], madeBy: name }
    const agent = await cluster.join({
      images: [PYTHON, held],
      script: {
        save_kernel({ reference, title, madeBy, saveId }) {
          steps.push(`${reference} ${title ?? '-'} ${madeBy ?? '-'}`)
          agent.send({
            ...{ type: 'image_pull', pullId: saveId },
            progress: { layersDone: 0, layersTotal: 1, bytesDone: 5, bytesTotal: 10, layers: [] },
          })
          return going.promise
        },
      },
    })
    const { items } = await ada.createSession({ body: { image: 'berth/python:3.13' } })
    const params = { id: items[0]?.id as never }
    await expect.poll(async () => (await ada.getSession({ params })).status).toBe('RUNNING')
    const ask = (reference: string) => ada.saveSession({ params, body: { reference, note: 'For the course' } })
    expect(await refusal(cluster.api.saveSession({ params, body: { reference: 'a:1' } }))).toMatchObject({
      ...{ code: 'forbidden' },
    })
    for (const wrong of ['a', 'A:1', 'cr.example.org/a:1', 'localhost/a:1', 'a:1 b']) {
      expect(await refusal(ask(wrong)), wrong).toMatchObject({ code: 'bad_request' })
    }
    // Names that a recipe, a build of Berth or another user could take for theirs.
    const planted = [
      'debian:trixie-slim',
      'ubuntu:24.04',
      'berth/toolbox:0123456789ab',
      'vision/torch:2',
      'users/ada/box:1',
      'users/saves/box:1',
      'users/saves-00000000/box:1',
    ]
    for (const taken of [...planted, PYTHON.references[0] ?? '']) {
      expect(await refusal(ask(taken)), taken).toMatchObject({
        ...{ code: 'bad_request', detail: { why: expect.stringContaining(`users/${name}/torch:2`) as string } },
      })
    }
    expect(await refusal(ask(`users/${name}/held:1`))).toMatchObject({ code: 'image_exists' })
    const { items: images } = await ada.listImages()
    expect(images.map(({ reference, madeBy }) => [reference, madeBy])).toEqual([
      ['berth/python:3.13', undefined],
      [`users/${name}/held:1`, name],
    ])
    expect(await ask(`users/${name}/first:1`)).toMatchObject({
      request: { reference: `users/${name}/first:1` },
      task: null,
    })
    const { request } = await ask(`users/${name}/box:1`)
    expect(steps).toEqual([])
    expect(await refusal(ada.listImageRequests())).toMatchObject({ code: 'forbidden' })
    expect((await cluster.api.listImageRequests()).items).toMatchObject([
      { reference: `users/${name}/box:1`, email: 'saves@example.org', note: 'For the course' },
    ])
    const accept = () => cluster.api.acceptImageRequest({ params: { id: request?.id ?? '' }, body: {} })
    expect(await accept()).toMatchObject({ kind: 'save', status: 'running', target: `users/${name}/box:1` })
    expect(await refusal(accept())).toMatchObject({ code: 'image_request_not_found' })
    const task = async () => (await ada.getSessionImage({ params })).task
    await expect.poll(async () => (await task())?.pull?.[0]?.progress?.bytesDone).toBe(5)
    going.resolve({ id: 'sha256:1' })
    await expect.poll(async () => (await task())?.status).toBe('done')
    expect(steps).toEqual([`users/${name}/box:1 - ${name}`])
  })

  test('requests are withdrawn and declined, work is cancelled, and the setting decides who needs a superadmin', async () => {
    const aborted = Promise.withResolvers<string>()
    await cluster.join({
      script: {
        save_kernel: (_input, signal) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              aborted.resolve('aborted')
              reject(new ScriptedError('unavailable', 'cancelled'))
            })
          }),
      },
    })
    const bob = await cluster.addUser('declined@example.org')
    const { items } = await bob.createSession({ body: { image: 'berth/python:3.13' } })
    const name = `declined-${(await bob.me()).user.id.slice(-8)}`
    const params = { id: items[0]?.id as never }
    await expect.poll(async () => (await bob.getSession({ params })).status).toBe('RUNNING')
    const ask = () => bob.saveSession({ params, body: { reference: `users/${name}/bob:1` } })
    await ask()
    await bob.cancelSessionImage({ params })
    expect((await cluster.api.listImageRequests()).items).toEqual([])
    const { request } = await ask()
    await cluster.api.declineImageRequest({ params: { id: request?.id ?? '' }, body: { reason: 'Too large.' } })
    expect((await bob.listMessages()).items[0]?.text).toBe(
      `The image users/${name}/bob:1 of this session is not made.\nToo large.`,
    )
    onTestFinished(async () => void (await cluster.api.updateSettings({ body: { sessionImages: 'ask' } })))
    await cluster.api.updateSettings({ body: { sessionImages: 'off' } })
    expect(await refusal(ask())).toMatchObject({ code: 'forbidden' })
    await cluster.api.updateSettings({ body: { sessionImages: 'allow' } })
    expect(await ask()).toMatchObject({ request: null, task: { status: 'running' } })
    const other = bob.saveSession({ params, body: { reference: `users/${name}/bob:2` } })
    expect(await refusal(other)).toMatchObject({ code: 'unavailable', detail: { cause: 'session_saves_already' } })
    await bob.cancelSessionImage({ params })
    expect(await aborted.promise).toBe('aborted')
    expect((await bob.getSessionImage({ params })).task?.status).toBe('cancelled')
    await bob.deleteSession({ params })
    await expect.poll(async () => (await bob.getSession({ params })).status).toBe('TERMINATED')
    expect(await refusal(ask())).toMatchObject({ code: 'session_not_running' })
  })
  test('the image of a session whose image is for some domains is for no others', async () => {
    const [reference = ''] = PYTHON.references
    await cluster.api.createDomain({ body: { name: 'outside' } })
    const kim = await cluster.addUser('limited@example.org')
    const name = `limited-${(await kim.me()).user.id.slice(-8)}`
    const images = [
      PYTHON,
      { ...PYTHON, id: `sha256:${'c'.repeat(64)}`, references: [`users/${name}/box:1`], madeBy: name },
    ]
    const agent = await cluster.join({ images: [PYTHON], script: { save_kernel: () => ({ id: 'sha256:1' }) } })
    onTestFinished(async () => void (await cluster.api.updateSettings({ body: { sessionImages: 'ask' } })))
    await cluster.api.updateSettings({ body: { sessionImages: 'allow' } })
    await cluster.api.updateImage({ body: { reference, domains: ['default'] } })
    const { items } = await kim.createSession({ body: { image: reference } })
    const params = { id: items[0]?.id as never }
    await expect.poll(async () => (await kim.getSession({ params })).status).toBe('RUNNING')
    await kim.saveSession({ params, body: { reference: `users/${name}/box:1` } })
    await expect.poll(async () => (await kim.getSessionImage({ params })).task?.status).toBe('done')
    agent.images = images
    agent.report(true)
    const listed = async (api: ApiClient) => (await api.listImages()).items.map(one => one.reference)
    await expect.poll(() => listed(kim)).toContain(`users/${name}/box:1`)
    const stranger = await cluster.addUser('outside@example.org', { domain: 'outside' })
    expect(await listed(stranger)).toEqual([])
    await cluster.api.updateImage({ body: { reference, domains: null } })
  })

  test('the image of a session whose registry some domains may not use is for none of them', async () => {
    const reference = 'cr.example.org/lab/r:1'
    const image = { ...PYTHON, id: `sha256:${'d'.repeat(64)}`, references: [reference] }
    await cluster.api.createDomain({ body: { name: 'bounded', allowedRegistries: ['docker.io'] } })
    const kim = await cluster.addUser('of-registry@example.org')
    const name = `of-registry-${(await kim.me()).user.id.slice(-8)}`
    const saved = { ...image, id: `sha256:${'e'.repeat(64)}`, references: [`users/${name}/r:1`], madeBy: name }
    const agent = await cluster.join({ images: [image], script: { save_kernel: () => ({ id: 'sha256:1' }) } })
    onTestFinished(async () => void (await cluster.api.updateSettings({ body: { sessionImages: 'ask' } })))
    await cluster.api.updateSettings({ body: { sessionImages: 'allow' } })
    const { id } = await cluster.launch({ image: reference }, kim)
    await cluster.reach(id, 'RUNNING')
    await kim.saveSession({ params: { id }, body: { reference: `users/${name}/r:1` } })
    await expect.poll(async () => (await kim.getSessionImage({ params: { id } })).task?.status).toBe('done')
    agent.images = [image, saved]
    agent.report(true)
    const listed = async (api: ApiClient) => (await api.listImages()).items.map(one => one.reference)
    await expect.poll(() => listed(kim)).toContain(`users/${name}/r:1`)
    const bounded = await cluster.addUser('bounded@example.org', { domain: 'bounded' })
    expect(await listed(bounded)).toEqual([])
    // The copy keeps the domains of the time when it was saved, until an administrator says otherwise.
    await cluster.api.updateDomain({ params: { name: 'bounded' }, body: { allowedRegistries: null } })
    expect(await listed(bounded)).toEqual([reference])
    await cluster.api.updateImage({ body: { reference: `users/${name}/r:1`, domains: ['default', 'bounded'] } })
    expect(await listed(bounded)).toContain(`users/${name}/r:1`)
  })
})
