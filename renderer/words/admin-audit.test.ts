import { expect, test } from 'vitest'
import { isAuditAction, ROUTES, type RouteSpec } from '#manager/contract'

/** Requests that the audit log leaves out (`manager/http/record-requests.ts`), and the request for the abilities of uploads. */
const NOT_RECORDED = [
  'recordVisit',
  'whatIf',
  'describeUploads',
  'readUpload',
  'continueUpload',
  'readBundle',
  'readChecksums',
  'renewGrant',
  'redeemAppTicket',
  'grantOwnApp',
  'reportAppPorts',
  'grantServedApp',
  'listEndedLinks',
  'reportCertificate',
]

test('every request that the audit log records has words', () => {
  const changing = Object.entries<RouteSpec>(ROUTES).filter(([, { method }]) => method !== 'GET')
  const missing = changing.flatMap(([name]) => (isAuditAction(name) ? [] : name))
  expect(missing.toSorted()).toEqual(NOT_RECORDED.toSorted())
})
