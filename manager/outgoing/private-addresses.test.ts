import { expect, test } from 'vitest'
import { isOwnAddress, isPrivateAddress } from './private-addresses.ts'

test.each([
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '127.0.0.1',
  '169.254.169.254',
  '172.31.255.255',
  '192.168.1.1',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '[::]',
  '[::1]',
  '[::ffff:10.0.0.1]',
  '::ffff:7f00:1',
  '::10.0.0.1',
  '64:ff9b::10.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::1',
  '2001:db8::1',
  '2002:a00:1::',
  'fd00::1',
  'fe80::1%eth0',
  'ff02::1',
])('%s is private', address => expect(isPrivateAddress(address)).toBe(true))

test.each([
  '1.1.1.1',
  '8.8.8.8',
  '172.32.0.1',
  '100.128.0.1',
  '[2606:4700::1111]',
  '::ffff:8.8.8.8',
  '64:ff9b::8.8.8.8',
  'hooks.example.org',
])('%s is public, or a name', address => expect(isPrivateAddress(address)).toBe(false))

test.each([
  ['127.0.0.1', true],
  ['[::ffff:127.0.0.1]', true],
  ['127.0.0.2', false],
  ['8.8.8.8', false],
  ['hooks.example.org', false],
])('whether %s is an address of this machine: %s', (address, expected) => expect(isOwnAddress(address)).toBe(expected))
