"""One public function a command: settings in, an artefact or measurements out. ``positionbias.NAME`` is each of them."""
