import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { imageSteps } from './build-images.ts'
import { type LocalImage } from './engine-client.ts'
import { LABEL_RECIPE, recipeHash, SESSION_IMAGES, TOOLBOX } from './image-recipes.ts'

/** An engine that holds these images and can pull none. @returns the requested changes, and the lines of the steps */
async function steps(
  images: ReadonlyMap<string, string>,
  base?: LocalImage,
): Promise<{ changes: string[]; lines: string[] }> {
  const changes: string[] = []
  const server = createServer((request, response) => {
    const reference = /^\/images\/(.+)\/json$/.exec(request.url ?? '')?.[1]
    const hash = images.get(decodeURIComponent(reference ?? ''))
    const isBase = base !== undefined && reference === 'debian:trixie-slim'
    if (reference === undefined) changes.push(request.url ?? '')
    response.writeHead(hash === undefined && !isBase ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isBase ? base : { Config: { Labels: { [LABEL_RECIPE]: hash } } }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const lines: string[] = []
  const engine = { host: `tcp://127.0.0.1:${port}`, options: { host: '127.0.0.1', port } }
  try {
    await imageSteps(engine, {
      platform: { name: 'Fedora', debianLike: false, root: false },
      dataDir: '/nowhere',
      signal: new AbortController().signal,
      progress: {
        async step(title, work) {
          lines.push(`${title}: ${await work(() => undefined)}`)
        },
      },
    })
  } catch (error) {
    lines.push(String(error))
  } finally {
    server.closeAllConnections()
    server.close()
  }
  return { changes, lines }
}

const built = () =>
  new Map(
    [TOOLBOX, ...SESSION_IMAGES].flatMap(({ folder, tags }) => {
      const hash = recipeHash(folder)
      return [...tags, ...tags.map(tag => tag.replace(/:latest$/, `:${hash}`))].map(tag => [tag, hash] as const)
    }),
  )

test('the base image is not built again if everything built from it is there', async () => {
  expect(await steps(built())).toEqual({
    changes: [],
    lines: ['Base image: not needed', 'Toolbox: already there', 'Session image: already there'],
  })
})

test('the base image is built if an image has to be built from it', async () => {
  const images = built()
  images.delete('berth/python:3.13')
  const { changes, lines } = await steps(images)
  expect(changes).toContainEqual(expect.stringContaining('fromImage=debian'))
  expect(lines.at(-1)).toContain('debian:trixie-slim cannot be pulled')
})

test.each<[string, LocalImage, boolean]>([
  ['has only the name', { Id: 'sha256:1', RepoDigests: [], Config: { Labels: null } }, false],
  [
    'has its own digest under the name, as images in the store of containerd have',
    { Id: 'sha256:1', RepoDigests: ['debian@sha256:1'] },
    false,
  ],
  ['was pulled', { Id: 'sha256:1', RepoDigests: ['debian@sha256:2'] }, true],
  ['was made here', { Id: 'sha256:1', Config: { Labels: { 'berth.base': 'trixie-slim' } } }, true],
])('a base image that %s', async (_what, base, isTaken) => {
  const images = built()
  images.delete('berth/python:3.13')
  const { changes, lines } = await steps(images, base)
  expect(lines[0] === 'Base image: already there').toBe(isTaken)
  expect(changes.some(path => path.includes('fromImage=debian'))).toBe(!isTaken)
})
