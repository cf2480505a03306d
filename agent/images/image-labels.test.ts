import { type ImageInfo } from 'dockerode'
import { expect, test } from 'vitest'
import { readImage, repoDigestsOf, tagsOf } from './image-labels.ts'

const anImage = (RepoTags: string[] | null, Labels: Record<string, string> | null) =>
  ({ Id: 'sha256:1', RepoTags, Labels, Size: 5 }) as unknown as ImageInfo

test('labels of Berth give the needs and the apps of an image', () => {
  const apps = [
    {
      name: 'jupyterlab',
      title: 'JupyterLab',
      protocol: 'http',
      port: 8888,
      path: '/lab',
      secret: 'jupyter',
      command: ['jupyter-lab', '--port={port}'],
      env: { JUPYTER_TOKEN: '{secret}' },
    },
  ]
  const image = readImage(
    anImage(['berth/python:3.13'], {
      'berth.image.title': 'Python',
      'berth.image.min.cpu': '0.5',
      'berth.image.min.mem': '256m',
      'berth.image.shmem': '64m',
      'berth.image.apps': JSON.stringify(apps),
    }),
  )
  expect(image).toEqual({
    references: ['berth/python:3.13'],
    id: 'sha256:1',
    sizeBytes: 5,
    title: 'Python',
    description: '',
    minimum: { cpu: 500, mem: 256 * 2 ** 20 },
    shmemBytes: 64 * 2 ** 20,
    labelled: true,
    apps: [
      {
        name: 'jupyterlab',
        title: 'JupyterLab',
        protocol: 'http',
        port: 8888,
        path: '/lab',
        secret: 'jupyter',
        command: ['jupyter-lab', '--port={port}'],
        environ: { JUPYTER_TOKEN: '{secret}' },
      },
    ],
  })
})

test('labels of Backend.AI are understood', () => {
  const image = readImage(
    anImage(['cr.example/python:3'], {
      'ai.backend.role': 'COMPUTE',
      'ai.backend.service-ports':
        'ipython:pty:3000,jupyter:http:8081,tensorboard:preopen:[6006,6007],vs_code:http:8180',
      'ai.backend.resource.min.cpu': '1',
      'ai.backend.resource.min.mem': '1g',
      'ai.backend.resource.preferred.shmem': '512m',
    }),
  )
  expect(image).toMatchObject({ labelled: true, minimum: { cpu: 1000, mem: 2 ** 30 }, shmemBytes: 512 * 2 ** 20 })
  expect(image?.apps.map(app => `${app.name} ${app.protocol} ${app.port}`)).toEqual([
    'jupyter http 8081',
    'tensorboard tcp 6006',
    'vs-code http 8180',
  ])
})

test('an image without labels is offered by its name', () => {
  expect(readImage(anImage(['debian:13'], null))).toMatchObject({
    title: 'debian:13',
    labelled: false,
    apps: [],
    minimum: {},
  })
})

test('a blank title counts as none', () => {
  const labels = { 'berth.image.title': ' ', 'org.opencontainers.image.title': 'Debian', 'berth.image.description': '' }
  expect(readImage(anImage(['debian:13'], labels))).toMatchObject({ title: 'Debian', description: '' })
  expect(readImage(anImage(['debian:13'], { 'berth.image.title': '' }))).toMatchObject({ title: 'debian:13' })
})

test('a malformed label does not hide the image', () => {
  const image = readImage(
    anImage(['x:1'], { 'berth.image.apps': '[{"name":"Bad Name"}, nonsense', 'berth.image.min.cpu': 'lots' }),
  )
  expect(image).toMatchObject({ apps: [], minimum: {}, labelled: true })
})

test('the toolbox and images without a name are not offered', () => {
  for (const tags of [['berth/toolbox:1', 'berth/toolbox:latest'], ['<none>:<none>'], [], null]) {
    expect(readImage(anImage(tags, {}))).toBeUndefined()
  }
})

test('with the image store of containerd a digest is not a name, and an image made here belongs to no registry', () => {
  const [own, other] = [`sha256:${'1'.repeat(64)}`, `sha256:${'2'.repeat(64)}`]
  const made = { Id: own, RepoTags: ['berth/python:3'], RepoDigests: [`berth/python@${own}`] }
  expect(repoDigestsOf(made)).toEqual([])
  // The classic image store's answer about an image from Docker Hub.
  expect(repoDigestsOf({ ...made, RepoDigests: [`python@${other}`] })).toEqual([`python@${other}`])
  const pulled = {
    Id: own,
    RepoTags: [`cr.example.org:5000/lab@${own}`],
    RepoDigests: [`cr.example.org:5000/lab@${own}`],
  }
  expect(tagsOf(pulled)).toEqual([])
  expect(repoDigestsOf(pulled)).toEqual([`cr.example.org:5000/lab@${own}`])
})

test('an image of a session says of whose, whatever else its labels say', () => {
  const labels = { 'berth.image.title': 'Official', 'berth.session.owner': 'ada' }
  expect(readImage(anImage(['users/ada/box:1'], labels))).toMatchObject({ title: 'Official', madeBy: 'ada' })
})
