import { expect, test } from 'vitest'
import { endReason, waitingReason } from './reasons.ts'

test.each([
  ['Resources', 'slurm_resources'],
  ['Priority', 'slurm_priority'],
  ['JobHeldUser', 'slurm_held'],
  ['JobHeldAdmin', 'slurm_held'],
  ['QOSMaxGRESPerUser', 'slurm_limit'],
  ['AssocGrpGRES', 'slurm_limit'],
  ['PartitionTimeLimit', 'slurm_never'],
  ['QOSMaxWallDurationPerJobLimit', 'slurm_never'],
  ['ReqNodeNotAvail, UnavailableNodes:g1', 'slurm_no_node'],
  ['ReqNodeNotAvail, May be reserved for other job', 'slurm_no_node'],
  ['PartitionDown', 'slurm_no_node'],
  ['None', 'slurm_asked'],
  ['', 'slurm_asked'],
  ['BeginTime', 'slurm_waits'],
  ['SomethingOfALaterVersion', 'slurm_waits'],
])('Slurm waits for %j: %s', (reason, cause) =>
  expect(waitingReason({ reason, expectedAt: null })).toMatchObject({ code: 'allocation_waits', cause }),
)

test('an unknown word is shown as it is', () =>
  expect(waitingReason({ reason: 'NewWord', expectedAt: null }).message).toBe('Waits in Slurm (NewWord).'))

test('an estimate is rounded up to the minute, because it moves all the time', () => {
  const { message } = waitingReason({ reason: 'Resources', expectedAt: new Date('2026-01-31T12:00:01Z') })
  expect(message).toMatch(/Estimated start: 2026-01-31T12:01:00.000Z\.$/)
})

test('an allocation that is not there any more has ended without a known cause', () =>
  expect(endReason(undefined)).toMatchObject({ code: 'allocation_ended', cause: 'slurm_forgotten' }))
