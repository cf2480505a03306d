import { expect, test } from 'vitest'
import { firewallChains, nameServersOf, restoreInput } from './firewall-rules.ts'
import { parseCidr } from './subnets.ts'

const range = parseCidr('10.213.0.0/16')!

test('the whole rule set, as iptables reads it', () => {
  const chains = firewallChains({
    range,
    deny: [parseCidr('192.168.0.0/16')!],
    nameServers: ['10.0.0.53'],
    agentUid: 0,
    proxyPort: 8489,
  })
  expect(restoreInput(chains)).toBe(`*filter
:BERTH-INPUT - [0:0]
:BERTH-FORWARD - [0:0]
:BERTH-OUTPUT - [0:0]
-A BERTH-INPUT -s 10.213.0.0/16 -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN
-A BERTH-INPUT -s 10.213.0.0/16 -m connlimit --connlimit-above 8192 --connlimit-mask 28 -j REJECT
-A BERTH-INPUT -s 10.213.0.0/16 -d 10.213.0.0/16 -i berthp+ -p tcp --dport 8489 -j ACCEPT
-A BERTH-INPUT -s 10.213.0.0/16 -i berthn+ -p tcp -j REJECT --reject-with tcp-reset
-A BERTH-INPUT -s 10.213.0.0/16 -i berthn+ -j REJECT
-A BERTH-INPUT -s 10.213.0.0/16 -i berthp+ -p tcp -j REJECT --reject-with tcp-reset
-A BERTH-INPUT -s 10.213.0.0/16 -i berthp+ -j REJECT
-A BERTH-INPUT -s 10.213.0.0/16 -d 10.0.0.53 -p udp --dport 53 -j RETURN
-A BERTH-INPUT -s 10.213.0.0/16 -d 10.0.0.53 -p tcp --dport 53 -j RETURN
-A BERTH-INPUT -s 10.213.0.0/16 -p tcp -j REJECT --reject-with tcp-reset
-A BERTH-INPUT -s 10.213.0.0/16 -j REJECT
-A BERTH-FORWARD -s 10.213.0.0/16 -i berthn+ ! -o berthn+ -p tcp -j REJECT --reject-with tcp-reset
-A BERTH-FORWARD -s 10.213.0.0/16 -i berthn+ ! -o berthn+ -j REJECT
-A BERTH-FORWARD -s 10.213.0.0/16 -i berthp+ ! -o berthp+ -p tcp -j REJECT --reject-with tcp-reset
-A BERTH-FORWARD -s 10.213.0.0/16 -i berthp+ ! -o berthp+ -j REJECT
-A BERTH-FORWARD -s 10.213.0.0/16 -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN
-A BERTH-FORWARD -d 10.213.0.0/16 -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN
-A BERTH-FORWARD -s 10.213.0.0/16 -m connlimit --connlimit-above 8192 --connlimit-mask 28 -j REJECT
-A BERTH-FORWARD -s 10.213.0.0/16 -d 10.213.0.0/16 -m physdev --physdev-is-bridged -j RETURN
-A BERTH-FORWARD -s 10.213.0.0/16 -d 10.0.0.53 -p udp --dport 53 -j RETURN
-A BERTH-FORWARD -s 10.213.0.0/16 -d 10.0.0.53 -p tcp --dport 53 -j RETURN
-A BERTH-FORWARD -s 10.213.0.0/16 -d 169.254.0.0/16 -p tcp -j REJECT --reject-with tcp-reset
-A BERTH-FORWARD -s 10.213.0.0/16 -d 169.254.0.0/16 -j REJECT
-A BERTH-FORWARD -s 10.213.0.0/16 -d 192.168.0.0/16 -p tcp -j REJECT --reject-with tcp-reset
-A BERTH-FORWARD -s 10.213.0.0/16 -d 192.168.0.0/16 -j REJECT
-A BERTH-FORWARD -d 10.213.0.0/16 -p tcp -j REJECT --reject-with tcp-reset
-A BERTH-FORWARD -d 10.213.0.0/16 -j REJECT
-A BERTH-OUTPUT -d 10.213.0.0/16 -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN
-A BERTH-OUTPUT -d 10.213.0.0/16 -m owner --uid-owner 0 -j RETURN
-A BERTH-OUTPUT -d 10.213.0.0/16 -p tcp -j REJECT --reject-with tcp-reset
-A BERTH-OUTPUT -d 10.213.0.0/16 -j REJECT
COMMIT
`)
})

test('agents with different ranges share no chains, and no name is too long for iptables', () => {
  const names = (text: string) =>
    firewallChains({ range: parseCidr(text)!, deny: [], nameServers: [], agentUid: 5 }).map(chain => chain.name)
  expect(names('10.214.0.0/16')).not.toEqual(names('10.215.0.0/16'))
  for (const name of names('10.214.0.0/16')) expect(name.length).toBeLessThanOrEqual(28)
})

test('only name servers that containers query by themselves are allowed', () => {
  expect(nameServersOf('# x\nsearch lab\nnameserver 127.0.0.53\nnameserver 10.0.0.2\nnameserver fe80::1\n')).toEqual([
    '10.0.0.2',
  ])
})
