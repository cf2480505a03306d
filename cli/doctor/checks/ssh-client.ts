import { type Check, ok, warning } from '../check.ts'

export const sshClient: Check = {
  name: 'OpenSSH client',
  run({ sshVersion }) {
    if (sshVersion !== undefined) return ok(`${sshVersion}.`)
    return warning('OpenSSH is not installed: `berth ssh`, `sftp` and `scp` need it.', 'apt-get install openssh-client')
  },
}
