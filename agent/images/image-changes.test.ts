import { expect, test } from 'vitest'
import { imageChanges } from './image-changes.ts'

test('an image without settings needs no change', () => {
  expect(imageChanges({ Env: null, Labels: null, Cmd: null, Entrypoint: null })).toBe('')
})

test('each setting becomes one line, in which nothing ends a value or is replaced', () => {
  const changes = imageChanges({
    Env: ['A=plain', 'B=with "quotes", $HOME and \\', 'C=', 'D=two\nlines'],
    Labels: { 'berth.image.apps': '[{\n  "name": "a"\n}]' },
    Entrypoint: ['/bin/sh', '-c'],
    Cmd: ['echo "$HOME"'],
    WorkingDir: '/srv/$x',
    User: '1000:1000',
    ExposedPorts: { '8080/tcp': {} },
    Volumes: { '/data': {} },
    StopSignal: 'SIGINT',
  })
  expect(changes.split('\n')).toEqual([
    'ENV A="plain"',
    'ENV B="with \\"quotes\\", \\$HOME and \\\\"',
    'ENV C=""',
    'LABEL "berth.image.apps"="[{ \\"name\\": \\"a\\" }]"',
    'ENTRYPOINT ["/bin/sh","-c"]',
    'CMD ["echo \\"$HOME\\""]',
    'WORKDIR /srv/\\$x',
    'USER 1000:1000',
    'EXPOSE 8080/tcp',
    'VOLUME ["/data"]',
    'STOPSIGNAL SIGINT',
  ])
})
