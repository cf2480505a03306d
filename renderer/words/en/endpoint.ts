export default {
  berthOn: 'Berth on <b>{place}</b>',
  thisComputer: 'this computer',
  change: 'Change…',
  whichBerth: 'Which Berth?',
  connect: 'Connect',
  onThisComputer: 'Berth on this computer',
  onAnotherComputer: 'Berth on another computer',
  address: 'Address',
  enterAddress: 'Enter an address, such as berth.example.org',
} as const
