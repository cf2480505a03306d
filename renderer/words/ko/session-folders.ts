import type en from '../en/session-folders.ts'
import { type Translation } from '../message-types.ts'

export default {
  add: '폴더 추가',
  addTitle: '{name} 세션에 폴더 추가',
  addText: '세션의 프로그램에 바로 보입니다. 그 경로에 다른 것이 없어야 합니다.',
  folder: '폴더',
  chooseOne: '폴더를 선택하세요.',
  path: '세션에서의 경로',
  added: '{folder} 폴더를 {name} 세션에 추가했습니다.',
  take: '빼기',
  takeOf: '{folder} 폴더 빼기',
  takeTitle: '{name} 세션에서 {folder} 폴더를 뺄까요?',
  takeText: '파일은 폴더에 그대로 있고 세션에서만 보이지 않게 됩니다. 프로그램이 사용 중인 폴더는 빠지지 않습니다.',
  takeForce: '프로그램이 사용 중이어도 빼기: 프로그램에는 열어 둔 파일만 남습니다',
  taken: '{folder} 폴더를 {name} 세션에서 뺐습니다.',
  waits: '호스트를 기다리는 중',
  launchStays: '세션을 시작할 때부터 있던 폴더는 세션이 종료될 때까지 남습니다.',
  fixed: '지금은 폴더를 추가할 수 없습니다. {why}',
  again: '다른 폴더로 다시 시작',
  againTitle: '{name} 세션을 다른 폴더로 다시 시작',
  againText: '세션의 홈 폴더 파일은 그대로 이어지고 아래 폴더가 마운트됩니다.',
  againEnds: '지금 실행 중이므로 먼저 종료합니다. 프로그램에서 저장하지 않은 내용은 사라집니다.',
  againSubmit: '다시 시작',
  againEndSubmit: '종료하고 다시 시작',
  againSlow: '세션이 아직 종료되지 않았습니다. 종료된 뒤 종료된 세션 목록에서 다시 시작하세요.',
  started: '{name} 세션을 다시 시작합니다.',
  otherFolders: '폴더: {names}',
  otherWithout:
    '선택하지 않으면 내 폴더와 내가 전에 직접 마운트한 폴더만 원래 이름으로 마운트되고, 이미지는 내가 직접 시작한 적이 있는 것이어야 합니다.',
} as const satisfies Translation<typeof en>
