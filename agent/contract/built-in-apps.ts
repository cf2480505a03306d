import { type KernelApp } from './kernel-app.ts'

/** Port in the container on which the session's SSH server listens. */
export const SSHD_PORT = 2222

/**
 * Apps that every session has, whatever its image: they come from the toolbox. (The terminal needs no port and no entry
 * here: it is a data socket of kind `terminal`.) An app of an image with the same name does not replace them.
 */
export const BUILT_IN_APPS: readonly KernelApp[] = [
  {
    name: 'sshd',
    title: 'SSH and SFTP',
    protocol: 'tcp',
    path: '/',
    port: SSHD_PORT,
    command: ['/opt/berth/bin/berth-sshd', '{port}'],
    environ: {},
    secret: 'none',
  },
]
