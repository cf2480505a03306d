import { type Image } from '#manager/contract'

/** An image of Python for sessions, with no app. */
export const anImage = (change: Partial<Image> = {}): Image => ({
  reference: 'berth/python:3.13',
  digest: 'sha256:1',
  title: 'Python',
  description: '',
  sizeBytes: 1,
  minimum: { cpu: '0.5', mem: '512m' },
  shmem: '64m',
  apps: [],
  holders: 0,
  labelMinimum: {},
  registry: null,
  pullable: false,
  outdated: false,
  aliases: [],
  labelled: true,
  ...change,
})
