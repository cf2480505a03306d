import { expect, test } from 'vitest'
import { defaultForm, limitsOf, toSpec, validate } from './launch-form.ts'
import { fitSlurm, offering, slurmChoiceOf, slurmLike } from './slurm-choice.ts'

const SETTINGS = {
  qos: 'normal',
  timeLimitMinutes: 60,
  maxTimeLimitMinutes: 240,
  offers: { qos: ['normal', 'urgent'] },
}
const form = (change: object = {}) => ({ ...defaultForm(undefined, {}), ...change })
const limits = (slurm?: object) => ({ ...limitsOf(undefined, { cpu: 4000, 'cuda.device': 4 }, 2 ** 30), slurm })

test('only what the resource group offers is sent', () => {
  const chosen = form({ gpu: 1, gpuChoice: { model: 'H100' }, slurmTime: '90m', slurmValues: { qos: 'urgent' } })
  const spec = toSpec(chosen, limits(SETTINGS))
  expect(spec.slurm).toEqual({ timeLimitMinutes: 90, qos: 'urgent' })
  expect(spec.gpu).toEqual({ model: 'H100' })
  expect(toSpec(chosen, limits())).not.toHaveProperty('slurm')
  expect(slurmChoiceOf(form({ slurmValues: { qos: 'other', constraint: 'a100' } }), SETTINGS)).toBeUndefined()
  // The group's own value needs no choice.
  expect(slurmChoiceOf(form({ slurmValues: { qos: 'normal' } }), SETTINGS)).toBeUndefined()
})

test('a time limit beyond that of the group is a mistake, where Slurm runs the group', () => {
  const context = { images: [], taken: new Set<string>(), topPriority: 0 }
  const faultOf = (slurmTime: string, slurm?: object) =>
    validate(form({ slurmTime }), { ...context, limits: limits(slurm) }).slurmTime
  expect(faultOf('4h', SETTINGS)).toBeUndefined()
  expect(faultOf('5h', SETTINGS)).toMatch(/^At most 4/)
  expect(faultOf('5', SETTINGS)).toMatch(/unit/)
  expect(faultOf('5h')).toBeUndefined()
  expect(faultOf('5h', {})).toBeUndefined()
})

test('a choice is kept for another launch, without what another group would refuse', () => {
  const choice = { timeLimitMinutes: 90, qos: 'urgent' }
  expect(slurmLike(choice)).toEqual({ slurmTime: '1 h 30 min', slurmValues: { qos: 'urgent' } })
  const like = form({ ...slurmLike(choice), gpuChoice: { model: 'H100' } })
  expect(fitSlurm(like, SETTINGS)).toMatchObject({ ...slurmLike(choice), gpuChoice: { model: 'H100' } })
  expect(fitSlurm(like, undefined)).toMatchObject({ slurmTime: '', slurmValues: {}, gpuChoice: { model: 'H100' } })
  expect(slurmChoiceOf(like, offering(like) ?? {})).toEqual(choice)
  expect(offering({})).toBeUndefined()
})
