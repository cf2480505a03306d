import { expect, test } from 'vitest'
import { hostfile, knownHosts, sshConfig } from './cluster-files.ts'

const pair = { size: 2, slots: 8 }

test('our settings come first, and those of the image apply to every other host, as they did', () => {
  const lines = sshConfig(pair, 'SendEnv LANG\nInclude /etc/ssh/ssh_config.d/*.conf\n').split('\n')
  expect(lines).toContain('Host main1 sub1')
  expect(lines.slice(lines.indexOf('Host *'))).toEqual([
    'Host *',
    'SendEnv LANG',
    'Include /etc/ssh/ssh_config.d/*.conf',
    '',
  ])
  expect(lines.find(line => line.startsWith('Match'))).toContain('originalhost main1,sub1 exec ')
})

test('one line of known hosts for all, and a line of the hostfile for each', () => {
  expect(knownHosts(pair, 'ssh-ed25519 AAAA berth cluster')).toBe('[main1]:2222,[sub1]:2222 ssh-ed25519 AAAA\n')
  expect(hostfile(pair)).toBe('main1 slots=8\nsub1 slots=8\n')
})
