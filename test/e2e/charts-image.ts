import { BUSYBOX_IMAGE, busyboxImage, docker, madeContainer } from '../fixtures/docker.ts'

export interface ChartsImage extends AsyncDisposable {
  readonly title: string
}

/** A replacement if the images on this computer have no TensorBoard: a page of the same name that shows how it was started. */
const APP = {
  name: 'tensorboard',
  title: 'TensorBoard',
  protocol: 'http',
  port: 6006,
  path: '/',
  // The words after `sh -c SCRIPT NAME` are the arguments chosen by the user.
  command: [
    'sh',
    '-c',
    'echo "$*, $SAMPLES samples" > /home/work/index.html; exec httpd -f -p 127.0.0.1:{port} -h /home/work',
    'tensorboard',
  ],
  allowedOptions: { arguments: ['--logdir'], environment: ['SAMPLES'], defaults: { '--logdir': '/home/work/logs' } },
}

/** Makes an image with the stand-in on the engine, small enough for several containers. */
export async function makeChartsImage(): Promise<ChartsImage> {
  await busyboxImage()
  const id = crypto.randomUUID().slice(0, 8)
  const title = `Charts ${id}`
  await using container = await madeContainer({
    Image: BUSYBOX_IMAGE,
    Cmd: ['sh'],
    Labels: {
      'berth.image.title': title,
      'berth.image.min.cpu': '0.1',
      'berth.image.min.mem': '64m',
      'berth.image.apps': JSON.stringify([APP]),
    },
  })
  await container.commit({ repo: 'berth-test/charts', tag: id })
  return {
    title,
    async [Symbol.asyncDispose]() {
      await docker.getImage(`berth-test/charts:${id}`).remove({ force: true })
    },
  }
}
