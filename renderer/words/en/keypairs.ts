import { defineWords } from '../i18n.ts'

const en = {
  title: 'Access keys',
  what: 'An access key and its secret key sign requests of scripts and of other programs. They may do what you may do.',
  none: 'You have no access key.',
  create: 'New access key',
  name: 'Name',
  nameHint: 'What it is for, such as the program that uses it. May stay empty.',
  make: 'Make key',
  createdTitle: 'Your new access key',
  createdHint: 'The secret key is shown only now. Keep it where only you can read it.',
  accessKey: 'Access key',
  secretKey: 'Secret key',
  active: 'Active',
  inactive: 'Inactive',
  lastUsed: 'Last used {when}',
  neverUsed: 'Never used',
  deactivate: 'Deactivate',
  activate: 'Activate',
  deactivateKey: 'Deactivate {key}',
  activateKey: 'Activate {key}',
  removeKey: 'Delete {key}',
  remove: 'Delete',
  removeTitle: 'Delete the access key {key}?',
  removeText:
    'Programs that use it can no longer sign in. A key with which sessions were launched cannot be deleted; deactivate it instead.',
  waits: 'Made for you by {person}. It opens nothing until you accept it; only you then see its secret key.',
  madeBy: 'Made by {person}',
  somebody: 'an administrator',
  accept: 'Accept',
  acceptKey: 'Accept {key}',
  refuse: 'Refuse',
  refuseKey: 'Refuse {key}',
  refuseTitle: 'Refuse the access key {key}?',
  refuseText: 'The access key is deleted. It has opened nothing.',
  proof: 'Programs sign in with an access key later, without asking you. Enter your password once more.',
  loading: 'Loading the access keys',
} as const

export default en
export const t = defineWords('keypairs', en)
